"""Generated DataFrame schemas, in Spark's Arrow types, and rows that fit them."""

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import types

from pyspark_pulsar.schema.avro.to_arrow import list_of, map_of

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)

SCALAR_TYPES = st.one_of(
    st.sampled_from(
        [
            pa.bool_(),
            pa.int8(),
            pa.int16(),
            pa.int32(),
            pa.int64(),
            pa.float32(),
            pa.float64(),
            pa.string(),
            pa.binary(),
            pa.date32(),
            pa.time64("ns"),
            pa.timestamp("us"),
            pa.timestamp("us", tz="UTC"),
        ]
    ),
    st.integers(1, 38).flatmap(
        lambda digits: st.builds(pa.decimal128, st.just(digits), st.integers(0, digits))
    ),
)


def structs_of(members: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[list[pa.Field]]:
    fields = st.builds(pa.field, NAMES, members, nullable=st.booleans())
    return st.lists(fields, min_size=1, max_size=5, unique_by=lambda field: field.name)


TYPES = st.recursive(
    SCALAR_TYPES,
    lambda inner: st.one_of(
        st.builds(list_of, inner, nullable=st.booleans()),
        st.builds(map_of, inner, nullable=st.booleans()),
        structs_of(inner).map(pa.struct),
    ),
    max_leaves=4,
)

SCHEMAS = structs_of(TYPES).map(pa.schema)

_SIMPLE: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.float32(): st.floats(width=32, allow_nan=False, allow_infinity=False),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.string(): TEXT,
    pa.binary(): st.binary(max_size=12),
    pa.date32(): st.dates(),
    pa.time64("ns"): st.times(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", tz="UTC"): st.datetimes(timezones=st.just(dt.UTC)),
}


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Python values of an Arrow type, never null at the top."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if types.is_integer(kind):
        top = 2 ** (kind.bit_width - 1)
        return st.integers(-top, top - 1)
    if types.is_decimal(kind):
        bound = 10**kind.precision - 1
        return st.integers(-bound, bound).map(lambda digits: scaled(digits, kind.scale))
    if types.is_list(kind):
        return st.lists(maybe(kind.value_field), max_size=3)
    if types.is_map(kind):
        return st.dictionaries(TEXT, maybe(kind.item_field), max_size=3)
    return st.fixed_dictionaries({member.name: maybe(member) for member in kind})


def maybe(field: pa.Field) -> st.SearchStrategy[Any]:
    """Values of a field, null where it is nullable."""
    return st.none() | values(field.type) if field.nullable else values(field.type)


def scaled(digits: int, scale: int) -> decimal.Decimal:
    """`digits` shifted right by `scale`, exactly, whatever the current decimal context."""
    sign, text = (1 if digits < 0 else 0), str(abs(digits))
    return decimal.Decimal((sign, tuple(int(each) for each in text), -scale))


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    """A record batch of a generated schema with 1 to 8 rows."""
    schema = draw(SCHEMAS)
    count = draw(st.integers(1, 8))
    columns = []
    for field in schema:
        rows = draw(st.lists(maybe(field), min_size=count, max_size=count))
        columns.append(pa.array([as_arrow(row, field.type) for row in rows], field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def as_arrow(value: Any, kind: pa.DataType) -> Any:
    """A generated value as `pyarrow.array` wants it: maps are lists of pairs at every level."""
    if value is None:
        return None
    if types.is_map(kind):
        return [(key, as_arrow(each, kind.item_type)) for key, each in value.items()]
    if types.is_list(kind):
        return [as_arrow(each, kind.value_type) for each in value]
    if types.is_struct(kind):
        return {member.name: as_arrow(value[member.name], member.type) for member in kind}
    return value


def comparable(value: Any) -> Any:
    """Distinguishes -0.0 from 0.0, which compare equal, anywhere within `value`."""
    if isinstance(value, float):
        return (value, math.copysign(1.0, value))
    if isinstance(value, list | tuple):
        return [comparable(each) for each in value]
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    return value
