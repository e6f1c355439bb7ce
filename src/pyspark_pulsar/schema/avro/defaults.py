"""Conversion of the defaults in an Avro document to values that a write can store.

Avro writes a default as JSON (https://avro.apache.org/docs/1.11.1/specification/#complex-types). Defaults of bytes,
fixed types and decimals are strings of code points from 0 to 255. The default of a logical type on a number is the
plain number. The default of a union is a value of one of its branches.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from pyarrow import types


def default_scalar(default: object, kind: pa.DataType) -> object:
    """Convert a default to a Python value for `pyarrow.scalar`.

    Args:
        default: The default, as `json.loads` returns it.
        kind: The field's Arrow type from `schema.avro.to_arrow`.

    Raises:
        ValueError: If the default is not a value of the type.

    """
    value = _value(default, kind)
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{default!r} is no {kind}: {error}") from None
    return value


def _value(default: object, kind: pa.DataType) -> object:
    if isinstance(default, str):
        if types.is_floating(kind):
            return float(default)
        return default if types.is_string(kind) else _bytes(default, kind)
    if isinstance(default, float) and types.is_integer(kind) and not default.is_integer():
        raise ValueError(f"{default!r} is no {kind}")
    if isinstance(default, list) and types.is_list(kind):
        return [_value(item, kind.value_type) for item in default]
    if isinstance(default, dict) and types.is_map(kind):
        return [(key, _value(item, kind.item_type)) for key, item in default.items()]
    if types.is_struct(kind) and default is not None:
        names = [member.name for member in kind]
        if isinstance(default, dict) and set(default) <= set(names):
            return {name: _value(default[name], kind.field(name).type) for name in default}
        return _member(default, kind, names)
    return default


def _member(default: object, kind: pa.StructType, names: list[str]) -> object:
    """Return the default of a union as a struct, with the value in the first member that the default fits."""
    if names == [f"member{index}" for index in range(len(names))]:
        for name in names:
            try:
                return {name: default_scalar(default, kind.field(name).type)}
            except ValueError:
                continue
    raise ValueError(f"{default!r} is no {kind}")


def _bytes(text: str, kind: pa.DataType) -> bytes | Decimal:
    data = text.encode("latin-1")
    if not types.is_decimal(kind):
        return data
    unscaled = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
    return Decimal((unscaled.sign, unscaled.digits, -kind.scale))
