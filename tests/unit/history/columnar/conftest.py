"""A folder with Delta tables, and one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures.columnar import IDENTIFIER, add_ledger, definition

from pyspark_pulsar.history.columnar.delta.table import DeltaFolder


@pytest.fixture
def folder(tmp_path: Path) -> DeltaFolder:
    return DeltaFolder.open({"type": "delta", "path": str(tmp_path)})


@pytest.fixture
def table(folder: DeltaFolder) -> Any:
    """Return a table with ledgers 1 and 2, each in a file."""
    table = folder.create(IDENTIFIER, definition())
    add_ledger(table, 1)
    add_ledger(table, 2)
    return table
