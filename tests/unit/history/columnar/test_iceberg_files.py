"""Names of columns in the history of a table's schemas."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, StructType

from pyspark_pulsar.history.columnar.iceberg.files import check_history, unclear_names
from pyspark_pulsar.history.columnar.table_files import NotScannable


def schema(number: int, *fields: NestedField) -> Schema:
    return Schema(*fields, schema_id=number)


def long(number: int, name: str) -> NestedField:
    return NestedField(number, name, LongType(), required=False)


def struct(*members: NestedField) -> NestedField:
    return NestedField(2, "line", StructType(*members), required=False)


FIRST = schema(0, long(1, "id"), struct(long(3, "a")))


def test_added_and_widened_columns_are_clear() -> None:
    later = schema(1, long(1, "id"), struct(long(3, "a"), long(4, "b")), long(5, "more"))
    assert unclear_names(later, [FIRST, later]) == set()


@pytest.mark.parametrize(
    ("later", "unclear"),
    [
        (schema(1, long(1, "number"), struct(long(3, "a"))), {"id", "number"}),
        (schema(1, long(1, "id"), struct(long(3, "alpha"))), {"line"}),
        (schema(1, long(7, "id"), struct(long(3, "a"))), {"id"}),
        (schema(1, struct(long(3, "a"))), {"id"}),
        (schema(1, long(1, "id"), long(8, "ID"), struct(long(3, "a"))), {"id"}),
        (
            schema(1, long(1, "id"), struct(long(3, "a"), NestedField(9, "A", StringType(), required=False))),
            {"line"},
        ),
    ],
    ids=["renamed", "renamed inside", "dropped and added", "dropped", "capitals", "capitals inside"],
)
def test_names_that_may_mean_another_field(later: Schema, unclear: set[str]) -> None:
    assert unclear_names(later, [FIRST, later]) == unclear


def test_history_that_was_removed() -> None:
    check_history([FIRST, schema(1, long(1, "id"))])
    for history in ([schema(1, long(1, "id"))], [FIRST, schema(2, long(1, "id"))]):
        with pytest.raises(NotScannable, match="removed"):
            check_history(history)
