"""May a column that holds one type be read as another? Widening may, narrowing may not; members may be left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.type_text import type_text

_WIDER: Final = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int16(): (pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int32(): (pa.int64(), pa.float64()),
    pa.float32(): (pa.float64(),),
}


def misfits(has: pa.DataType, wanted: pa.DataType, path: str) -> Iterator[str]:
    """Every way in which values of type `has` cannot be read as `wanted` without loss, by path; both in Spark's
    types. Nothing when they can."""
    if types.is_struct(has) and types.is_struct(wanted):
        for member in wanted:
            index = has.get_field_index(member.name)
            if index < 0:
                names = ", ".join(each.name for each in has)
                yield f"{path}.{member.name}, which {path} does not have (it has {names})"
            else:
                yield from misfits(has.field(index).type, member.type, f"{path}.{member.name}")
    elif types.is_list(has) and types.is_list(wanted):
        yield from misfits(has.value_type, wanted.value_type, f"{path}[]")
    elif types.is_map(has) and types.is_map(wanted):
        yield from misfits(has.key_type, wanted.key_type, f"{path}{{key}}")
        yield from misfits(has.item_type, wanted.item_type, f"{path}{{}}")
    elif not _holds(wanted, has):
        yield f"{path} as {type_text(wanted)}, expected {type_text(has)}{_wider_text(has)}"


def forbids_null(field: pa.Field, path: str) -> Iterator[str]:
    """Paths at which `field` claims that there is never a null; keys of maps never are."""
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


def _holds(wanted: pa.DataType, has: pa.DataType) -> bool:
    if has == wanted or wanted in _WIDER.get(has, ()):
        return True
    if types.is_decimal(has) and types.is_decimal(wanted):
        whole = wanted.precision - wanted.scale
        return bool(wanted.scale >= has.scale and whole >= has.precision - has.scale)
    return False


def _wider_text(has: pa.DataType) -> str:
    wider = [type_text(each) for each in _WIDER.get(has, ())]
    return f" or {', '.join(wider)}" if wider else ""
