"""What a record's fields without a column are written as, where their document gives them a default."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
from pyarrow import types


def absent_defaults(
    values: Iterable[pa.Field], fields: pa.Schema, defaults: dict[str, object]
) -> tuple[list[tuple[str, object]], list[str]]:
    """Defaults to write for fields without a column, as Python values; and faults for unusable ones."""
    given = {each.name for each in values}
    usable: list[tuple[str, object]] = []
    faults: list[str] = []
    for field in fields:
        default = defaults.get(field.name)
        if field.name in given or default is None:
            continue
        if isinstance(default, str) and not types.is_string(field.type):
            default = _bytes_default(default, field.type)
        try:
            pa.scalar(default, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            faults.append(f"{field.name} ({field.type}) is missing and its default cannot be written; add it")
        usable.append((field.name, default))
    return usable, faults


def _bytes_default(text: str, kind: pa.DataType) -> bytes | Decimal:
    """Avro writes the default of bytes and fixed as code points 0 to 255; decimals lie in such bytes."""
    data = text.encode("latin-1", "replace")
    if not types.is_decimal(kind):
        return data
    unscaled = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
    return Decimal((unscaled.sign, unscaled.digits, -kind.scale))
