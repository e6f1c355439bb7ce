"""The format of a payload's bytes, as the kernel needs it, made from a registry schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.schema.avro.column_document import column_document
from pyspark_pulsar.schema.avro.json_document import json_document, times_as_numbers
from pyspark_pulsar.schema.avro.to_arrow import record_schema
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.schema.primitive import PRIMITIVES, RECORD_TYPES, VALUE_COLUMN, primitive_of
from pyspark_pulsar.schema.protobuf.column_plan import column_plan
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile, descriptor_plan
from pyspark_pulsar.schema.protobuf.plan import ProtobufPlan
from pyspark_pulsar.schema.protobuf.registry import (
    PROTOBUF_TYPES,
    PROTOBUF_VALUE,
    checked_descriptor,
    registered_plan,
    version_number,
)
from pyspark_pulsar.schema.types.exchange import optional_type
from pyspark_pulsar.schema.unfolding import UNFOLDED_ONCE, Omission, Unfolding

KEY_VALUE_TYPE: Final = "key_value"
"""The kernel's name of a schema that consists of two schemas."""

KEY_COLUMN: Final = "key"

_ARROW_TYPES: Final = {primitive.value_type: primitive.arrow_type for primitive in PRIMITIVES.values()}


@dataclass(frozen=True)
class PayloadSchema:
    """The format of a payload. The driver makes it for the executors, so it is picklable.

    Attributes:
        value_type: The kernel's name of the type: a primitive, the format of a record, or `key_value`.
        value_schema: The fields of a record, in the units of `definition`; other types have none.
        definition: An Avro schema for Avro and JSON, a plan for Protobuf; other types have none.
        pair: The sides of a `key_value` type; other types have none.
        omitted: The fields that no column can contain. `value_schema` and a reader's `definition` lack them.
        shows_more: Whether the format has fields that only some queries request, and that tables lack.

    """

    value_type: str
    value_schema: pa.Schema | None = None
    definition: str | None = None
    pair: KeyValuePair | None = None
    omitted: tuple[Omission, ...] = ()
    shows_more: bool = False


@dataclass(frozen=True)
class KeyValuePair:
    """The sides of a KEY_VALUE schema, each a primitive or a record.

    If `separated`, the message's key contains the key; otherwise the payload does.
    """

    key: PayloadSchema
    value: PayloadSchema
    separated: bool


def payload_schema(
    info: SchemaInfo,
    *,
    topic: str,
    descriptor: DescriptorFile | None = None,
    unfolding: Unfolding = UNFOLDED_ONCE,
) -> PayloadSchema:
    """Return the format of payloads with a registry schema. Fields are nullable as in their definition.

    The result omits the fields that no column can contain.

    Args:
        info: The registry schema.
        topic: The topic, for errors.
        descriptor: The user's Protobuf message. `info` must then be a Protobuf schema, or no schema.
        unfolding: How types that contain themselves become columns.

    Raises:
        SchemaError: If the schema is not valid.

    """
    if descriptor is not None:
        plan = descriptor_plan(checked_descriptor(descriptor, info, topic=topic))
        return protobuf_payload(plan, descriptor.path, unfolding=unfolding)
    if info.type is SchemaType.KEY_VALUE:
        pair = split(info, topic=topic)
        key, value = (
            payload_schema(
                side, topic=f"{topic}, {name} of its KEY_VALUE schema", unfolding=unfolding.of_side(name)
            )
            for name, side in ((KEY_COLUMN, pair.key), (VALUE_COLUMN, pair.value))
        )
        return pair_payload(key, value, separated=pair.separated)
    if info.type in PROTOBUF_TYPES:
        where = f"topic {topic}, {info.type.name} schema"
        plan = registered_plan(info, where=where)
        return protobuf_payload(plan, where, version_number(info), unfolding=unfolding)
    primitive = primitive_of(info, topic=topic)
    if primitive is not None:
        return PayloadSchema(primitive.value_type)
    where = f"topic {topic}, {info.type.name} schema"
    shown = column_document(value_document(info), unfolding, where=where)
    fields = record_schema(shown.text, where=where)
    return PayloadSchema(
        RECORD_TYPES[info.type], fields, shown.text, omitted=shown.omitted, shows_more=shown.shows_more
    )


def for_writing(info: SchemaInfo, *, topic: str) -> PayloadSchema:
    """Return the format for a writer, whose messages contain every field of the schema.

    The writer writes null for a field that no column can contain.

    Raises:
        SchemaError: If the schema is not valid.

    """
    payload = payload_schema(info, topic=topic)
    if payload.pair is not None:
        pair = split(info, topic=topic)
        key, value = (for_writing(side, topic=topic) for side in (pair.key, pair.value))
        return replace(payload, pair=replace(payload.pair, key=key, value=value))
    return replace(payload, definition=value_document(info)) if info.type in RECORD_TYPES else payload


def pair_payload(key: PayloadSchema, value: PayloadSchema, *, separated: bool) -> PayloadSchema:
    """Return the format of a pair, made of the formats of its sides."""
    sides = ((KEY_COLUMN, key), (VALUE_COLUMN, value))
    omitted = tuple(one.below(f"{name}.") for name, side in sides for one in side.omitted)
    pair, shows_more = KeyValuePair(key, value, separated), key.shows_more or value.shows_more
    return PayloadSchema(KEY_VALUE_TYPE, pair=pair, omitted=omitted, shows_more=shows_more)


def value_document(info: SchemaInfo) -> str:
    """Return the Avro document by which values of an AVRO or JSON schema are encoded. Raise SchemaError if invalid."""
    return json_document(info.text) if info.type is SchemaType.JSON else info.text


def with_times_as_numbers(payload: PayloadSchema, *, where: str) -> PayloadSchema:
    """Return the format with dates and times of JSON as numbers, in the unit of the topic's schema."""
    if payload.pair is not None:
        key = with_times_as_numbers(payload.pair.key, where=where)
        value = with_times_as_numbers(payload.pair.value, where=where)
        return replace(payload, pair=replace(payload.pair, key=key, value=value))
    if payload.value_type != RECORD_TYPES[SchemaType.JSON] or payload.definition is None:
        return payload
    document = times_as_numbers(payload.definition)
    shown = column_document(document, where=where).text
    return replace(payload, value_schema=record_schema(shown, where=where), definition=document)


def for_reading(payload: PayloadSchema) -> PayloadSchema:
    """Return the format for a reader, in which all fields of a JSON record are nullable.

    Messages in JSON have no schema version, so any message may be older than a required field.
    """
    if payload.pair is not None:
        key, value = for_reading(payload.pair.key), for_reading(payload.pair.value)
        return replace(payload, pair=replace(payload.pair, key=key, value=value))
    if payload.value_type != RECORD_TYPES[SchemaType.JSON] or payload.value_schema is None:
        return payload
    fields = [pa.field(field.name, optional_type(field.type)) for field in payload.value_schema]
    return replace(payload, value_schema=pa.schema(fields))


def protobuf_payload(
    plan: ProtobufPlan, where: str, version: str = "", *, unfolding: Unfolding = UNFOLDED_ONCE
) -> PayloadSchema:
    """Return the format of Protobuf messages. Errors name `where` and `version`. Raise SchemaError if invalid."""
    held = column_plan(plan, unfolding, where=where)
    fields, document = held.plan.fields(where=where), held.plan.document(version)
    return PayloadSchema(PROTOBUF_VALUE, fields, document, omitted=held.omitted, shows_more=held.shows_more)


def written_schema(info: SchemaInfo, *, topic: str) -> PayloadSchema:
    """Return the format of another version of a topic's schema, from which a decoder resolves to the reader's format.

    The result includes fields that no column can contain, because a decoder reads only the reader's fields.

    Raises:
        SchemaError: If the schema is not valid.

    """
    if info.type in PROTOBUF_TYPES:
        plan = registered_plan(info, where=f"topic {topic}, {info.type.name} schema")
        return PayloadSchema(PROTOBUF_VALUE, None, plan.document(version_number(info)))
    if info.type in RECORD_TYPES:
        return PayloadSchema(RECORD_TYPES[info.type], None, value_document(info))
    if info.type is SchemaType.KEY_VALUE:
        pair = split(info, topic=topic)
        key, value = (written_schema(side, topic=topic) for side in (pair.key, pair.value))
        return PayloadSchema(KEY_VALUE_TYPE, pair=KeyValuePair(key, value, pair.separated))
    return payload_schema(info, topic=topic)


def columns_of(payload: PayloadSchema) -> pa.Schema:
    """Return the columns of a payload for a reader, in the units of its definition."""
    if payload.pair is not None:
        sides = ((KEY_COLUMN, payload.pair.key), (VALUE_COLUMN, payload.pair.value))
        return pa.schema([pa.field(name, side_type(side)) for name, side in sides])
    if payload.value_schema is not None:
        return payload.value_schema
    return pa.schema([pa.field(VALUE_COLUMN, side_type(payload))])


def side_type(side: PayloadSchema) -> pa.DataType:
    """Return the type of the column for one side of a pair. A record becomes a struct."""
    if side.value_schema is not None:
        return pa.struct(list(side.value_schema))
    return _ARROW_TYPES[side.value_type]
