"""Rules for reading a column as another type. A query can widen a type and omit members, but cannot narrow a type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.types.fit import FitRules, type_faults
from pyspark_pulsar.schema.types.type_text import type_text

_WIDER: Final = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int16(): (pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int32(): (pa.int64(), pa.float64()),
    pa.float32(): (pa.float64(),),
}


def misfits(source: pa.DataType, target: pa.DataType, path: str) -> Iterator[str]:
    """Yield the reasons why values of the source type cannot be read as the target type without loss.

    Each reason begins with the path of the type. Source and target must be types that Spark exchanges.
    """
    yield from type_faults(source, target, path, _READING)


def forbids_null(field: pa.Field, path: str) -> Iterator[str]:
    """Yield the paths at which a field forbids null. The paths do not include map keys, which are never null."""
    if not field.nullable:
        yield path
    kind = field.type
    if types.is_struct(kind):
        for member in kind:
            yield from forbids_null(member, f"{path}.{member.name}")
    elif types.is_list(kind):
        yield from forbids_null(kind.value_field, f"{path}[]")
    elif types.is_map(kind):
        yield from forbids_null(kind.item_field, f"{path}{{}}")


def _narrowed(source: pa.DataType, target: pa.DataType, path: str) -> str | None:
    if _holds(target, source):
        return None
    return f"{path} cannot be read as {type_text(target)}, expected {type_text(source)}{_wider_text(source)}"


def _unknown(member: pa.Field, names: Iterable[str], prefix: str) -> str:
    return f"{prefix}{member.name} is not in {prefix[:-1]} (it has {', '.join(names)})"


def _left_out(_name: str, _target: Iterable[str], _prefix: str) -> None:
    """Accept a member that the query does not request, because the read skips the member."""


def _holds(target: pa.DataType, source: pa.DataType) -> bool:
    if source == target or target in _WIDER.get(source, ()):
        return True
    if types.is_decimal(source) and types.is_decimal(target):
        whole = target.precision - target.scale
        return bool(target.scale >= source.scale and whole >= source.precision - source.scale)
    return False


def _wider_text(source: pa.DataType) -> str:
    wider = [type_text(wider_type) for wider_type in _WIDER.get(source, ())]
    return f" or {', '.join(wider)}" if wider else ""


_READING: Final = FitRules(scalar=_narrowed, missing=_unknown, surplus=_left_out)
