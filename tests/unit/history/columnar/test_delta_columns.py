"""Names and types of columns that Delta does not have."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.history.columnar.columns.stored_types import delta_leaf, fitting_field, stored_schema
from pyspark_pulsar.history.columnar.delta.columns import check_names, delta_schema


@pytest.mark.parametrize("letter", " ,;{}()\n\t=")
def test_letters_that_names_do_not_have(letter: str) -> None:
    inner = pa.struct([(f"x{letter}y", pa.int32())])
    columns = pa.schema([("a", pa.map_(pa.string(), pa.list_(inner)))])
    with pytest.raises(SchemaError, match=r"got 'a\.value\..+x.+y'; tier the topic to Iceberg"):
        check_names(columns, "t")


def test_names_that_differ_in_capital_letters() -> None:
    columns = pa.schema([("a", pa.struct([("x", pa.int32()), ("X", pa.int32())]))])
    with pytest.raises(SchemaError, match=r"got 'a\.x' and 'a\.X'"):
        check_names(columns, "t")


def test_names_that_delta_has() -> None:
    check_names(pa.schema([("ä.b`c", pa.int32()), ("_x", pa.struct([("ä.b`c", pa.int32())]))]), "t")


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("us"), pa.float16(), pa.decimal256(50, 2)])
def test_types_that_delta_does_not_have(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match=re.escape(f"got 'x' of type {kind}")):
        delta_schema(pa.schema([("a", pa.int32()), ("x", kind)]), "t")


def test_types_as_they_are_stored() -> None:
    columns = pa.schema(
        [
            ("time", pa.time64("us")),
            ("interval", pa.duration("us")),
            ("small", pa.int8()),
            ("void", pa.null()),
            ("local", pa.timestamp("us")),
            ("inner", pa.struct([("time", pa.time64("us")), ("void", pa.null())])),
        ]
    )
    stored = stored_schema(columns, delta_leaf)
    assert stored.names == ["time", "interval", "small", "local", "inner"]
    assert [stored.field(name).type for name in stored.names] == [
        pa.int64(), pa.int64(), pa.int8(), pa.timestamp("us"), pa.struct([("time", pa.int64())]),
    ]  # fmt: skip
    assert pa.schema(delta_schema(stored, "t").to_arrow()) == stored


def test_delta_keeps_types() -> None:
    inner = pa.struct([("x", pa.list_(pa.int32()))])
    more = pa.struct([("x", pa.list_(pa.int32())), ("y", pa.int32())])
    wider = pa.struct([("x", pa.list_(pa.int64()))])
    table = pa.field("a", inner)
    for column, may_widen, fits in ((more, False, True), (wider, True, True), (wider, False, False)):
        assert (fitting_field(table.with_type(column), table, may_widen=may_widen) is not None) is fits
