"""The search for the columns of a reader's schema in a table, for rows that were written with another schema. Pure.

Decoders resolve each message from its writer's schema to the reader's schema. For the rows of a table, this module
decides once for each pair of schemas how all these rows are read. A decision has three possible outcomes:

    columns    The usual outcome. Each field of the reader is a column, possibly under another name, or is absent.
    decode     The columns of a row are encoded with the schema with which the row was written. The result is decoded
               with the reader's schema, so the values equal the values of a read from the broker.
    unclear    The columns do not determine the values that the reader would see in the messages.

The outcome is `columns` only if each field of the reader certainly has a column or is certainly absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.history.columnar.columns.avro_fields import AvroFields
from pyspark_pulsar.history.columnar.columns.field_matches import Found, rename_column
from pyspark_pulsar.history.columnar.columns.protobuf_fields import ProtobufFields
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.payload import KEY_COLUMN, PayloadSchema
from pyspark_pulsar.schema.primitive import RECORD_TYPES, VALUE_COLUMN
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_VALUE

_AVRO: Final = RECORD_TYPES[SchemaType.AVRO]
_JSON: Final = RECORD_TYPES[SchemaType.JSON]


@dataclass(frozen=True)
class Resolution:
    """The table's columns for a reader's value columns, for rows of one schema."""

    columns: pa.Schema | None
    """The table's columns, renamed to the reader's names at every depth.

    Fields that the rows' schema lacks are omitted. None means that the rows must be decoded with the reader's schema.
    """
    unclear: Mapping[str, str] = field(default_factory=dict)
    """A reason for each column of the reader that the table's columns do not determine, by column name."""


def resolve(tiered: PayloadSchema, stored: pa.Schema, reader: PayloadSchema) -> Resolution:
    """Find the table's columns for the value columns of a reader.

    Args:
        tiered: The schema with which the rows were written.
        stored: The table's columns that contain the fields of `tiered`, with the names of these fields.
        reader: The reader's schema.

    """
    found = Found()
    columns = _value_columns(tiered, list(stored), reader, found)
    return Resolution(pa.schema(columns) if found.is_plain else None, found.unclear)


def _value_columns(
    tiered: PayloadSchema, stored: list[pa.Field], reader: PayloadSchema, found: Found
) -> list[pa.Field]:
    if tiered.value_type != reader.value_type:
        found.decode()
        return []
    if tiered.pair is not None and reader.pair is not None:
        is_other_key = tiered.pair.key.definition != reader.pair.key.definition
        if tiered.pair.separated != reader.pair.separated or (tiered.pair.separated and is_other_key):
            # The table stores the encoded key of each message, even if the message's value is null. The table cannot
            # keep the payload of a message with a null value.
            found.decode()
            return []
        sides = (
            (KEY_COLUMN, tiered.pair.key, reader.pair.key),
            (VALUE_COLUMN, tiered.pair.value, reader.pair.value),
        )
        columns = {column.name: column for column in stored}
        return [
            column
            for name, side, reader_side in sides
            if (column := _side(columns.get(name), side, reader_side, found.below(name))) is not None
        ]
    if tiered.definition is None or reader.definition is None:
        return [column for column in stored if column.name == VALUE_COLUMN]
    if tiered.definition == reader.definition:
        return stored
    if tiered.value_type == PROTOBUF_VALUE:
        return ProtobufFields(tiered.definition, reader.definition).columns(stored, found)
    return AvroFields(tiered.definition, reader.definition, is_json=tiered.value_type == _JSON).columns(
        stored, found
    )


def _side(
    column: pa.Field | None, tiered: PayloadSchema, reader: PayloadSchema, found: Found
) -> pa.Field | None:
    if tiered.value_type != reader.value_type:
        found.decode()
        return None
    if column is None or tiered.definition is None:
        return column
    members = list(column.type) if types.is_struct(column.type) else []
    return rename_column(column, column.name, pa.struct(_value_columns(tiered, members, reader, found)))
