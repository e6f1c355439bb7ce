"""Do a DataFrame's columns fit a topic's record? By name and type, before anything is sent.

Widening fits, narrowing does not. What only a value can show is left to the encoder, which refuses the
row: null for a required field, a string that is no symbol of an enum, bytes of another length than the
fixed. Timestamps and times of day fit coarser units and lose the digits below them (towards zero), since Spark itself
knows only microseconds and most Pulsar schemas only milliseconds.
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
# Integers up to these widths are exact in a float and a double.
_BINARY: Final = pa.binary()
_EXACT_IN: Final = {pa.float32(): 16, pa.float64(): 32}


def record_mismatches(
    columns: Iterable[pa.Field], target: Iterable[pa.Field], prefix: str = ""
) -> Iterator[str]:
    """Every way in which `columns` do not fit the record `target`; nothing when they fit.

    A target field without a column fits when it is nullable: it is written as null.
    """
    yield from record_faults(columns, target, prefix, _WRITING)


def scalar_fits(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether every value of `source` can be written as `target` (see the module for units and lengths)."""
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
    """How a column of type `source` becomes `target` with Spark's CAST, which refuses some pairs (ANSI mode, the
    default). `takes_text`: a string will do as well."""
    if types.is_nested(source) or types.is_nested(target):
        return f"make it {type_text(target)}"
    if takes_text or (_BINARY in (source, target) and not {source, target} <= {_BINARY, pa.string()}):
        last = "" if takes_text else f", then to {type_text(target)}"
        return f"cast it to string{last}"
    if types.is_date(target) and _is_number(source):
        return "make a date of it, as date_from_unix_date does"
    if types.is_date(source) and _is_number(target):
        return "make a number of it, as unix_date does"
    return f"cast it to {type_text(target)}"


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _cast(source: pa.DataType, target: pa.DataType, path: str) -> str | None:
    if scalar_fits(source, target):
        return None
    return f"{path} is {type_text(source)}, the topic's schema wants {type_text(target)}; {cast_advice(source, target)}"


def _required(field: pa.Field, _names: Iterable[str], prefix: str) -> str | None:
    if field.nullable:
        return None
    return f"{prefix}{field.name} ({type_text(field.type)}) is required by the topic's schema and missing; add it"


def _unknown(name: str, target: Iterable[str], prefix: str) -> str:
    return f"{prefix}{name} is not in the topic's schema{suggestion(name, target)}"


_WRITING: Final = FitRules(scalar=_cast, missing=_required, surplus=_unknown)
