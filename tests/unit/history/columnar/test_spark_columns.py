"""Spark's expressions for columns, and the columns that Spark cannot return."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pulsar.history.columnar.columns.absent_values import Absent
from pyspark_pulsar.history.columnar.columns.projection import FIELD_ID
from pyspark_pulsar.history.columnar.scan.spark_columns import scanned_column
from pyspark_pulsar.history.columnar.table_files import NotScannable, TableFiles

STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])


def files(
    leaves: frozenset[int] | None = frozenset({1}), unclear: frozenset[str] = frozenset()
) -> TableFiles:
    return TableFiles(["u"], [1], [1], {}, frozenset({((1, 1), leaves)}), 1, False, unclear, 0)


def stored(kind: pa.DataType, number: int = 1) -> pa.Schema:
    return pa.schema([_numbered(pa.field("c", kind), iter(range(number, 100)))])


def _numbered(field: pa.Field, numbers: Any) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_numbered(member, numbers) for member in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_numbered(kind.value_field, numbers))
    elif pa.types.is_map(kind):
        kind = pa.map_(_numbered(kind.key_field, numbers), _numbered(kind.item_field, numbers))
    return field.with_type(kind).with_metadata({FIELD_ID: str(next(numbers))})


@pytest.mark.parametrize(
    ("in_files", "wanted", "scanned"),
    [
        (pa.int64(), pa.int64(), pa.int64()),
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.int32(), pa.int8(), pa.int32()),
        (pa.int32(), pa.int16(), pa.int32()),
        (pa.decimal128(10, 2), pa.decimal128(20, 2), pa.decimal128(20, 2)),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), pa.list_(pa.int64())),
        (pa.map_(pa.string(), pa.float32()), pa.map_(pa.string(), pa.float64()), None),
        (STRUCT, pa.struct([("b", pa.string()), ("a", pa.int64()), ("new", pa.date32())]), None),
    ],
)
def test_types_that_spark_reads_alike(in_files: pa.DataType, wanted: pa.DataType, scanned: Any) -> None:
    column = scanned_column(pa.field("c", wanted), stored(in_files), files())
    assert column.scanned == (scanned or wanted)
    assert column.default is None


@pytest.mark.parametrize(
    ("in_files", "wanted"),
    [
        (pa.time64("us"), pa.time64("us")),
        (pa.int64(), pa.int32()),
        (pa.int64(), pa.duration("us")),
        (pa.decimal128(10, 2), pa.decimal128(20, 3)),
        (pa.string(), pa.binary()),
        (STRUCT, pa.string()),
        (STRUCT, pa.struct([("a", pa.string())])),
        (STRUCT, pa.struct([("a", pa.int32()), ("hour", pa.time64("us"))])),
        (pa.list_(pa.time64("us")), pa.list_(pa.time64("us"))),
    ],
)
def test_types_that_it_does_not_support(in_files: pa.DataType, wanted: pa.DataType) -> None:
    with pytest.raises(NotScannable):
        scanned_column(pa.field("c", wanted), stored(in_files), files())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pa.array([7], pa.int32()), "7"),
        (pa.array([True]), "true"),
        (pa.array([0.1]), "0.1"),
        (pa.array([Decimal("1.50")]), "1.50"),
        (pa.array(["a b"]), "a b"),
        (pa.array(["it's"]), None),
        (pa.array(["a\\b"]), None),
        (pa.array(["a\nb"]), None),
        (pa.array([float("nan")]), None),
        (pa.array([b"x"]), None),
    ],
)
def test_defaults_of_columns(value: pa.Array, text: str | None) -> None:
    column, absent = pa.field("c", value.type), Absent(value)
    has_it, lacks_it = files(frozenset({1})), files(frozenset({2}))
    if text is None:
        for table in (pa.schema([]), stored(value.type)):
            with pytest.raises(NotScannable):
                scanned_column(column, table, lacks_it, absent)
        assert scanned_column(column, stored(value.type), has_it, absent).default is None
        return
    assert scanned_column(column, pa.schema([]), has_it, absent).scanned is None
    for table in (pa.schema([]), stored(value.type)):
        assert scanned_column(column, table, lacks_it, absent).default == text


def test_defaults_inside_a_column_are_for_the_data_source() -> None:
    """Unless every file has the field."""
    absent = Absent(members={"b": Absent(pa.array(["x"]))})
    column = pa.field("c", STRUCT)
    assert scanned_column(column, stored(STRUCT), files(frozenset({1, 2})), absent).scanned == STRUCT
    for leaves in (frozenset({1}), None):
        with pytest.raises(NotScannable):
            scanned_column(column, stored(STRUCT), files(leaves), absent)
    with pytest.raises(NotScannable):
        scanned_column(column, stored(pa.struct([("a", pa.int32())])), files(), absent)


def test_names_that_have_changed() -> None:
    for name in ("c", "C"):
        with pytest.raises(NotScannable, match="have changed"):
            scanned_column(pa.field(name, pa.int64()), stored(pa.int64()), files(unclear=frozenset({"c"})))
