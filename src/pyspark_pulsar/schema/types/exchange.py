"""Conversion of Arrow types to the Arrow types that Spark exchanges with a data source.

Spark requires the Arrow schema of a data source to be equal to the schema that Spark derives. Timestamps have
microseconds, with the time zone "UTC" or without a time zone. Times of day have nanoseconds. The items of lists are
named `element`. The fields of maps are named `key` and `value`.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.avro.to_arrow import list_of


def readable(field: pa.Field) -> pa.Field:
    """Return the field that a read passes to Spark, with Spark's types and nullable at each level except map keys.

    Timestamps in nanoseconds lose the digits below a microsecond, because Spark's timestamps have microseconds.
    """
    return pa.field(field.name, readable_type(field.type), nullable=True)


def optional_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with unchanged units and with all parts nullable, except map keys."""
    if types.is_list(kind):
        return list_of(optional_type(kind.value_type), nullable=True)
    if types.is_map(kind):
        return pa.map_(kind.key_field, pa.field("value", optional_type(kind.item_type)))
    if types.is_struct(kind):
        return pa.struct([pa.field(member.name, optional_type(member.type)) for member in kind])
    return kind


def readable_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which Spark exchanges values of the type `kind`."""
    if types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    if types.is_time(kind):
        return pa.time64("ns")
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_list(kind):
        return list_of(readable_type(kind.value_type), nullable=True)
    if types.is_map(kind):
        key = pa.field("key", readable_type(kind.key_type), nullable=False)
        return pa.map_(key, readable(pa.field("value", kind.item_type)))
    if types.is_struct(kind):
        return pa.struct([readable(member) for member in kind])
    return kind
