"""Unions of two types without nested types, and conversion of defaults to a wider type."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final, TypeVar

from pyspark_pulsar.schema.avro.to_arrow import MAX_DECIMAL_DIGITS
from pyspark_pulsar.schema.avro.tree import Array, Fixed, Leaf, Map, RecordType, Type, branches

_Leaf = TypeVar("_Leaf", Leaf, Fixed)

PROMOTIONS: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""The types to which Avro's schema resolution promotes a primitive."""

_NUMBERS: Final = ("int", "long", "float", "double")
_WHOLE: Final = ("int", "long")
_TEXTS: Final = ("bytes", "string")
# The units of times and timestamps, from coarse to fine.
_UNITS: Final = ("millis", "micros", "nanos")
_PER_SECOND: Final = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}


def leaf_union(one: _Leaf, other: _Leaf, *, by_name: bool) -> _Leaf | None:
    """Return the type as which a reader reads values of both types, or None if no such type exists.

    The union of long and float or double is double, which rounds integers beyond 2**53. Times in different units become
    microseconds. Other unions lose no digits.

    Args:
        one: A type.
        other: Another type. If both types are `Fixed`, their names and sizes must be equal.
        by_name: Whether the values are JSON.

    """
    if one == other:
        return one
    if one.logical == other.logical == "decimal":
        return _decimal(one, other, by_name=by_name)
    if isinstance(one, Fixed) or isinstance(other, Fixed):
        return None
    if one.form or other.form:
        return None
    if one.logical or other.logical:
        return None if by_name else _finer(one, other)
    kinds = {one.kind, other.kind}
    if kinds <= set(_WHOLE):
        return Leaf("long")
    if kinds <= set(_NUMBERS):
        # A float cannot represent every int, but a double can.
        return Leaf("double")
    # A string can be read as bytes, but not all bytes as a string. In JSON, strings and bytes have different texts.
    return Leaf("bytes") if kinds <= set(_TEXTS) and not by_name else None


def _decimal(one: _Leaf, other: _Leaf, *, by_name: bool) -> _Leaf | None:
    if type(one) is not type(other) or (by_name and one.scale != other.scale):
        return None
    scale = max(one.scale, other.scale)
    precision = scale + max(one.precision - one.scale, other.precision - other.scale)
    held = MAX_DECIMAL_DIGITS
    if isinstance(one, Fixed):
        held = min(held, len(str(2 ** (8 * one.size - 1) - 1)) - 1)
    return replace(one, precision=precision, scale=scale) if precision <= held else None


def _finer(one: Leaf, other: Leaf) -> Leaf | None:
    """Return the union of two times of day, or of two timestamps of one kind, or None if the types have no union.

    The union has microseconds. A finer unit is not useful, because Spark truncates values to microseconds.
    """
    (what, _, unit), (others, _, other_unit) = ((leaf.logical or "").rpartition("-") for leaf in (one, other))
    if what != others or unit not in _UNITS or other_unit not in _UNITS:
        return None
    return Leaf("long", f"{what}-micros")


def recoded(default: str, own: Type, wider: Type) -> str:
    """Return the default of a field, as JSON text, after conversion to the wider type of the union."""
    if own == wider:
        return default
    return json.dumps(_recoded(json.loads(default), own, wider), sort_keys=True)


def _recoded(value: Any, own: Type, wider: Type) -> Any:
    mine, others = branches(own), branches(wider)
    if value is None or len(mine) != 1 or len(others) != 1:
        # A union of several types does not widen its branches, so the default is unchanged.
        return value
    kind, target = mine[0], others[0]
    match (kind, target):
        case Leaf(), Leaf() if isinstance(value, str) and (kind.kind, target.kind) == ("string", "bytes"):
            # In the JSON of an Avro default, each byte is one character.
            return value.encode().decode("latin-1")
        case Leaf() | Fixed(), Leaf() | Fixed():
            return _rescaled(value, kind, target) if kind != target else value
        case Array(), Array() if isinstance(value, list):
            return [_recoded(item, kind.items, target.items) for item in value]
        case Map(), Map() if isinstance(value, dict):
            return {key: _recoded(item, kind.values, target.values) for key, item in value.items()}
        case RecordType(), RecordType() if isinstance(value, dict):
            return _recoded_record(value, kind, target)
    return value


def _recoded_record(value: dict[str, Any], own: RecordType, wider: RecordType) -> dict[str, Any]:
    made = {}
    for member in own.fields:
        if member.name in value:
            target = next(
                (
                    candidate
                    for candidate in wider.fields
                    if member.name in (candidate.name, *candidate.aliases)
                ),
                member,
            )
            made[target.name] = _recoded(value[member.name], member.type, target.type)
    return made


def _rescaled(value: Any, own: Leaf | Fixed, wider: Leaf | Fixed) -> Any:
    if own.logical == "decimal" and isinstance(value, str) and wider.scale != own.scale:
        unscaled = int.from_bytes(value.encode("latin-1"), "big", signed=True) * 10 ** (
            wider.scale - own.scale
        )
        size = wider.size if isinstance(wider, Fixed) else unscaled.bit_length() // 8 + 1
        return unscaled.to_bytes(size, "big", signed=True).decode("latin-1")
    unit, other = ((kind.logical or "").rpartition("-")[2] for kind in (own, wider))
    if unit != other and isinstance(value, int) and unit in _PER_SECOND and other in _PER_SECOND:
        return value * _PER_SECOND[other] // _PER_SECOND[unit]
    return value
