"""Offsets in a query's progress: JSON, and what PySpark 4.1 makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyspark_pulsar.spark.progress_offset import offset_document

OFFSET = {"version": 1, "positions": {"persistent://public/default/it's": "1:2:3"}, "lag": {"seconds": None}}


@pytest.mark.parametrize("shown", [json.dumps, str], ids=["as JSON", "as Python"])
def test_both_are_understood(shown: Any) -> None:
    assert offset_document(shown(OFFSET)) == OFFSET


@pytest.mark.parametrize("text", [None, "", "null", "None", "{", "exit()", "0 records"])
def test_an_invalid_offset_is_no_offset(text: str | None) -> None:
    assert offset_document(text) is None
