"""Conversion of Arrow types to text for errors, in the notation of Spark SQL."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyarrow import types

_NAMES: Final = {
    pa.null(): "void",
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
}
_MARKS: Final = (b"variant", b"geometry", b"geography")


def spark_mark(kind: pa.DataType) -> str | None:
    """Return the name of the Spark type that a struct encodes, such as `variant`, or None if the struct is plain.

    Spark encodes types that Arrow lacks as structs, and marks a member of the struct by its metadata.
    """
    if not types.is_struct(kind):
        return None
    marks = {mark for member in kind for mark in member.metadata or {}}
    return next((mark.decode() for mark in _MARKS if mark in marks), None)


def type_text(kind: pa.DataType) -> str:
    """Return an Arrow type as text, such as `array<bigint>`.

    The text has no time units, because Spark has only one unit for each type. The text of a fixed-size binary type has
    the length in parentheses.
    """
    if kind in _NAMES:
        return _NAMES[kind]
    if types.is_struct(kind):
        members = ", ".join(f"{member.name}: {type_text(member.type)}" for member in kind)
        return spark_mark(kind) or f"struct<{members}>"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"array<{type_text(kind.value_type)}>"
    if types.is_map(kind):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    if types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if types.is_fixed_size_binary(kind):
        return f"binary({kind.byte_width})"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if types.is_time(kind):
        return "time"
    return "interval day to second" if types.is_duration(kind) else str(kind)
