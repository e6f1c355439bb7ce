"""Finds the columns of a table that hold the fields of a reader's schema, for rows that another schema tiered.

A message is resolved from the schema that it was written with to the reader's. For rows of a table there are three
outcomes, decided once for each pair of schemas:

    columns    each field of the reader is a column, perhaps of another name, or is absent. The usual outcome
    decode     the columns are encoded by the schema that tiered them, and decoded by the reader's. This gives what the
               broker's messages give, whatever the rules of the format are
    unclear    the columns do not tell what the reader would see in the messages

Only the first outcome is judged here field by field, and every doubt becomes one of the other two. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.history.columnar.columns.avro_fields import AvroFields
from pyspark_pulsar.history.columnar.columns.field_matches import Found, renamed
from pyspark_pulsar.history.columnar.columns.protobuf_fields import ProtobufFields
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.payload import KEY_COLUMN, PayloadSchema
from pyspark_pulsar.schema.primitive import RECORD_TYPES, VALUE_COLUMN
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_VALUE

_AVRO: Final = RECORD_TYPES[SchemaType.AVRO]
_JSON: Final = RECORD_TYPES[SchemaType.JSON]


@dataclass(frozen=True)
class Resolution:
    """Where the value columns of a reader are, for rows of one schema."""

    columns: pa.Schema | None
    """The table's columns under the reader's names, at every depth. A field that the rows' schema does not have is not
    among them. None: the rows are decoded by the reader's schema."""
    unclear: Mapping[str, str] = field(default_factory=dict)
    """For each column of the reader that the table's columns do not tell, the reason."""


def resolve(tiered: PayloadSchema, stored: pa.Schema, reader: PayloadSchema) -> Resolution:
    """Return where the value columns of a reader are.

    Args:
        tiered: The schema by which rows were tiered.
        stored: The table's columns that hold its fields, with the names of `tiered`.
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
            # The table has each key as it was sent, also that of a null value, whose payload it cannot keep.
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
    return renamed(column, column.name, pa.struct(_value_columns(tiered, members, reader, found)))
