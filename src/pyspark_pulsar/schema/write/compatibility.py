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
from pyspark_pulsar.schema.types.pairs import FitRules, record_faults
from pyspark_pulsar.schema.types.text import type_text

_INTEGER_BITS: Final = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
_DIGITS: Final = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
# Integers up to these widths are exact in a float and a double.
_EXACT_IN: Final = {pa.float32(): 16, pa.float64(): 32}


def record_mismatches(
    columns: Iterable[pa.Field], target: Iterable[pa.Field], prefix: str = ""
) -> Iterator[str]:
    """Every way in which `columns` do not fit the record `target`; nothing when they fit.

    A target field without a column fits when it is nullable: it is written as null.
    """
    yield from record_faults(columns, target, prefix, _WRITING)


def scalar_fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value of `given` can be written as `wanted` (see the module for units and lengths)."""
    if given == wanted:
        return True
    if given in _INTEGER_BITS:
        if types.is_decimal(wanted):
            return bool(wanted.precision - wanted.scale >= _DIGITS[given])
        limit = _INTEGER_BITS.get(wanted, _EXACT_IN.get(wanted, 0))
        return _INTEGER_BITS[given] <= limit
    if types.is_float32(given):
        return bool(types.is_float64(wanted))
    if types.is_decimal(given) and types.is_decimal(wanted):
        whole_digits = wanted.precision - wanted.scale
        return bool(given.scale <= wanted.scale and given.precision - given.scale <= whole_digits)
    if types.is_timestamp(given) and types.is_timestamp(wanted):
        return (given.tz is None) == (wanted.tz is None)
    if types.is_time(given):
        return bool(types.is_time(wanted))
    return bool(types.is_binary(given) and types.is_fixed_size_binary(wanted))


def _cast(given: pa.DataType, wanted: pa.DataType, path: str) -> str | None:
    if scalar_fits(given, wanted):
        return None
    return f"{path} is {type_text(given)}, the topic's schema wants {type_text(wanted)}; cast it"


def _required(field: pa.Field, _names: Iterable[str], prefix: str) -> str | None:
    if field.nullable:
        return None
    return f"{prefix}{field.name} ({type_text(field.type)}) is required by the topic's schema and missing; add it"


def _unknown(name: str, wanted: Iterable[str], prefix: str) -> str:
    return f"{prefix}{name} is not in the topic's schema{suggestion(name, wanted)}"


_WRITING: Final = FitRules(scalar=_cast, missing=_required, surplus=_unknown)
