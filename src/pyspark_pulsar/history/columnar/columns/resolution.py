"""The columns of a table for the fields of a reader's schema, for rows that another schema tiered.

A message is resolved from its writer's schema to the reader's schema. The rows of a table have three possible outcomes,
decided once for each pair of schemas:

    columns    Each field of the reader is a column, perhaps of another name, or is absent. The usual outcome.
    decode     The columns are encoded by the schema that tiered them, and decoded by the reader's schema. The
               result equals a read from the broker, whatever the rules of the format are.
    unclear    The columns do not determine the values that the reader would see in the messages.

This module decides only the first outcome field by field. Every doubt leads to one of the other outcomes. Pure.
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
    """The location of a reader's value columns in a table, for rows of one schema."""

    columns: pa.Schema | None
    """The table's columns under the reader's names, at every depth.

    Fields that the rows' schema lacks are omitted. None means that the reader's schema decodes the rows.
    """
    unclear: Mapping[str, str] = field(default_factory=dict)
    """The reader's columns that the table's columns do not determine, with the reason for each."""


def resolve(tiered: PayloadSchema, stored: pa.Schema, reader: PayloadSchema) -> Resolution:
    """Find the value columns of a reader.

    Args:
        tiered: The schema by which rows were tiered.
        stored: The table's columns that contain its fields, with the names of `tiered`.
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
            # The table stores each key as it was sent, also if the value is null. It cannot keep such a payload.
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
