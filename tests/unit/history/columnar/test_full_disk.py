"""A disk that is full while a topic is tiered: a named error, nothing is committed, and no file is left over."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fixtures.columnar import IDENTIFIER, add_ledger, definition, loaded, positions_after, rows_of, written
from fixtures.columnar_places import in_folder

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.table import TableCatalog
from pyspark_pulsar.history.tiering.upkeep import compact


@contextmanager
def full_disk(at: int) -> Iterator[None]:
    """Prevent files from growing past this number of bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(params=["iceberg", "delta"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    return in_folder(request.param, tmp_path)


def data_files(folder: Path) -> set[Path]:
    return set(folder.rglob("*.parquet"))


def test_a_data_file_that_does_not_fit(catalog: TableCatalog, tmp_path: Path) -> None:
    table = catalog.create(IDENTIFIER, definition())
    add_ledger(table, 1)
    present = data_files(tmp_path)
    with pytest.raises(ColumnsUnavailable, match="expected to write data file"), full_disk(1000):
        written(loaded(catalog), rows_of(2, item="x" * 5000), rows_of(3))
    assert data_files(tmp_path) == present
    add_ledger(loaded(catalog), 2)
    assert len(loaded(catalog).files()) == 2


def test_a_commit_that_does_not_fit(catalog: TableCatalog) -> None:
    table = catalog.create(IDENTIFIER, definition())
    add_ledger(table, 1)
    files = written(loaded(catalog), rows_of(2))
    with pytest.raises(ColumnsUnavailable, match="expected to"), full_disk(200):
        loaded(catalog).commit(files, positions_after(2))
    assert loaded(catalog).positions == positions_after(1)
    assert len(loaded(catalog).files()) == 1
    add_ledger(loaded(catalog), 2)
    with pytest.raises(ColumnsUnavailable, match="expected to"), full_disk(200):
        compact(loaded(catalog))
    assert compact(loaded(catalog)) == (2, 1)


def test_a_table_that_does_not_fit(catalog: TableCatalog) -> None:
    with pytest.raises(ColumnsUnavailable, match="expected to"), full_disk(200):
        catalog.create(IDENTIFIER, definition())
    catalog.create(IDENTIFIER, definition())
