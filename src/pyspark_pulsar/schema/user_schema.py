"""Reads with a user-specified schema: the columns and types of `.schema(...)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.reader_schema import old_field, promoted, with_old_fields
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import columns_of, for_reading, payload_schema
from pyspark_pulsar.schema.read_schema import (
    ReadSchema,
    check_output,
    known_columns,
    suggestion,
)
from pyspark_pulsar.schema.types.exchange import readable
from pyspark_pulsar.schema.types.widening import forbids_null, misfits
from pyspark_pulsar.schema.unfolding import UNFOLDED_ONCE, Unfolding

_SHOWN: Final = 5
_BY_DOCUMENT: Final = (SchemaType.AVRO, SchemaType.JSON)

OlderSchemas = Callable[[], Iterable[SchemaInfo]]
"""A function that returns earlier versions of the topic's schema, latest first.

`restrict_to` calls the function only if the latest version lacks a column.
"""


def restrict_to(
    resolved: ReadSchema,
    user_schema: pa.Schema,
    *,
    topic: str,
    older: OlderSchemas = tuple,
    unfolding: Unfolding = UNFOLDED_ONCE,
) -> ReadSchema:
    """Return a read schema whose output is exactly the columns of `.schema(...)`, in their order.

    A column can be a value column, a metadata column or the corrupt-record column. A column type can omit members of
    structs, and can be wider if no digits are lost. A column can also be a field that only earlier schema versions
    have. In messages without the field, the column is null.

    Args:
        resolved: The read schema without `.schema(...)`.
        user_schema: The columns of `.schema(...)`.
        topic: The topic, for errors.
        older: A function that returns earlier versions of the topic's schema.
        unfolding: How types that contain themselves become columns.

    Raises:
        SchemaError: If a column cannot be read. The error names each such column, its type and the expected type.

    """
    if user_schema.equals(resolved.output_schema):
        return resolved
    extended = _with_earlier_fields(resolved, user_schema, older, topic, unfolding)
    known = known_columns(extended.value_columns, extended.corrupt_column)
    faults = [fault for field in user_schema for fault in _faults(field, known)]
    if faults:
        # The error lists the topic's columns only if a column is missing, and not for a wrong type.
        listed = "" if set(user_schema.names) <= known.keys() else f"; the topic has {', '.join(known)}"
        if extended.value.omitted:
            # The error lists omitted fields, because a column that is not found is possibly one of these fields.
            left_out = ", ".join(omission.text() for omission in extended.value.omitted[:_SHOWN])
            listed += f"; no column can contain {left_out}"
        raise SchemaError(
            f"topic {topic}: the schema requests columns that cannot be read: {'; '.join(faults)}{listed}"
        )
    check_output(user_schema, extended.value_columns, extended.corrupt_column, topic)
    return replace(_widened(extended, user_schema, topic, unfolding), output_schema=user_schema)


def _faults(field: pa.Field, known: dict[str, pa.Field]) -> Iterator[str]:
    name = f"column {field.name}"
    for path in forbids_null(field, name):
        yield f"{path} is not nullable, but a message without a value makes each column null; make it nullable"
    if field.name in known:
        yield from misfits(known[field.name].type, field.type, name)
    else:
        yield f"{name} is not in the topic{suggestion(field.name, known)}"


def _with_earlier_fields(
    resolved: ReadSchema, user_schema: pa.Schema, older: OlderSchemas, topic: str, unfolding: Unfolding
) -> ReadSchema:
    known = known_columns(resolved.value_columns, resolved.corrupt_column)
    missing = [name for name in user_schema.names if name not in known]
    latest = resolved.info
    if not missing or latest is None or latest.type not in _BY_DOCUMENT:
        return resolved
    earlier: dict[str, object] = {}
    for info in older():
        for name in missing if info.type is latest.type else ():
            node = old_field(info.text, name)
            if node is not None:
                earlier.setdefault(name, node)
        if len(earlier) == len(missing):
            break
    if not earlier:
        return resolved
    return _by_document(resolved, latest, with_old_fields(latest.text, earlier), topic, unfolding)


def _widened(resolved: ReadSchema, user_schema: pa.Schema, topic: str, unfolding: Unfolding) -> ReadSchema:
    info, document = resolved.info, resolved.value.definition
    if info is None or info.type not in _BY_DOCUMENT or document is None:
        return resolved
    names = frozenset(resolved.value_columns.names)
    values = [field for field in user_schema if field.name in names]
    return _by_document(resolved, info, promoted(document, values), topic, unfolding)


def _by_document(
    resolved: ReadSchema, info: SchemaInfo, document: str, topic: str, unfolding: Unfolding
) -> ReadSchema:
    changed = replace(info, document=document.encode())
    value = for_reading(
        payload_schema(changed, topic=f"{topic}, with the columns of the query", unfolding=unfolding)
    )
    value = replace(value, shows_more=value.shows_more or resolved.value.shows_more)
    columns = pa.schema([readable(field) for field in columns_of(value)])
    return replace(resolved, value=value, value_columns=columns)
