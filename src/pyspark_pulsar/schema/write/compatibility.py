"""Comparison of a DataFrame's columns with a topic's record, by name and type, before a write sends data.

A column fits a wider type, but not a narrower type. The encoder later checks the values, and refuses a row with an
invalid value. Examples of invalid values are null in a required field, an unknown symbol of an enum, and bytes with
another length than the fixed type. Timestamps and times of day also fit coarser units, because Spark has
microseconds and most Pulsar schemas have milliseconds. The encoder rounds timestamps and times of day towards zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.read_schema import suggestion
from pyspark_pulsar.schema.types.fit import FitRules, record_faults
from pyspark_pulsar.schema.types.type_text import type_text

_INTEGER_BITS: Final = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
_DIGITS: Final = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
_BINARY: Final = pa.binary()
# A float represents all integers of 16 bits exactly, and a double represents all integers of 32 bits exactly.
_EXACT_IN: Final = {pa.float32(): 16, pa.float64(): 32}


def record_mismatches(
    columns: Iterable[pa.Field], target: Iterable[pa.Field], prefix: str = ""
) -> Iterator[str]:
    """Yield the mismatches between columns and the fields of a record.

    A nullable field does not need a column, because a write without the column stores null in the field.
    """
    yield from record_faults(columns, target, prefix, _WRITING)


def scalar_fits(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether values of the source type can be written as the target type.

    Time units and the length of a fixed-size binary type are not compared.
    """
    if source == target:
        return True
    if source in _INTEGER_BITS:
        if types.is_decimal(target):
            return bool(target.precision - target.scale >= _DIGITS[source])
        limit = _INTEGER_BITS.get(target, _EXACT_IN.get(target, 0))
        return _INTEGER_BITS[source] <= limit
    if types.is_float32(source):
        return bool(types.is_float64(target))
    if types.is_decimal(source) and types.is_decimal(target):
        whole_digits = target.precision - target.scale
        return bool(source.scale <= target.scale and source.precision - source.scale <= whole_digits)
    if types.is_timestamp(source) and types.is_timestamp(target):
        return (source.tz is None) == (target.tz is None)
    if types.is_time(source):
        return bool(types.is_time(target))
    return bool(types.is_binary(source) and types.is_fixed_size_binary(target))


def cast_advice(source: pa.DataType, target: pa.DataType, *, takes_text: bool = False) -> str:
    """Return advice for converting a column to the target type in Spark.

    The advice avoids casts that Spark refuses in ANSI mode, which is the default mode.

    Args:
        source: The type of the column.
        target: The type to write.
        takes_text: Whether a column of type string also fits the target.

    """
    if types.is_nested(source) or types.is_nested(target):
        return f"make it {type_text(target)}"
    if takes_text or (_BINARY in (source, target) and not {source, target} <= {_BINARY, pa.string()}):
        last = "" if takes_text else f", then to {type_text(target)}"
        return f"cast it to string{last}"
    if types.is_date(target) and _is_number(source):
        return "convert it to a date, for example with date_from_unix_date"
    if types.is_date(source) and _is_number(target):
        return "convert it to a number, for example with unix_date"
    return f"cast it to {type_text(target)}"


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _cast(source: pa.DataType, target: pa.DataType, path: str) -> str | None:
    if scalar_fits(source, target):
        return None
    return f"{path} is {type_text(source)}, the topic's schema needs {type_text(target)}; {cast_advice(source, target)}"


def _required(field: pa.Field, _names: Iterable[str], prefix: str) -> str | None:
    if field.nullable:
        return None
    return f"{prefix}{field.name} ({type_text(field.type)}) is required by the topic's schema and missing; add it"


def _unknown(name: str, target: Iterable[str], prefix: str) -> str:
    return f"{prefix}{name} is not in the topic's schema{suggestion(name, target)}"


_WRITING: Final = FitRules(scalar=_cast, missing=_required, surplus=_unknown)
