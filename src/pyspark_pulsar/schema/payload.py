"""Conversion of registry schemas to payload formats, by which the kernel decodes and encodes payloads."""

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
"""The kernel's name for the format of a KEY_VALUE schema."""

KEY_COLUMN: Final = "key"

_ARROW_TYPES: Final = {primitive.value_type: primitive.arrow_type for primitive in PRIMITIVES.values()}


@dataclass(frozen=True)
class PayloadSchema:
    """The format of a payload. The driver sends instances to executors, so instances can be pickled.

    Attributes:
        value_type: The kernel's name for the type: a primitive, a record format such as `avro`, or `key_value`.
        value_schema: The fields of a record, in the time units of `definition`. Primitives, pairs and formats from
            `written_schema` have no fields.
        definition: For Avro and JSON, an Avro schema as JSON text. For Protobuf, a plan as JSON text. Otherwise None.
        pair: The key format and the value format of the type `key_value`; otherwise None.
        omitted: The fields that no column can contain. `value_schema` and a reader's `definition` lack these fields.
        shows_more: Whether the format has fields that columns contain only because of `.schema(...)` or option
            `recursiveFieldMaxDepth`. Tables lack these fields.

    """

    value_type: str
    value_schema: pa.Schema | None = None
    definition: str | None = None
    pair: KeyValuePair | None = None
    omitted: tuple[Omission, ...] = ()
    shows_more: bool = False


@dataclass(frozen=True)
class KeyValuePair:
    """The key format and the value format of a KEY_VALUE schema. Each format is a primitive or a record.

    If `separated` is true, the message key contains the key of the pair. Otherwise the payload contains key and value.
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
    """Return the format of payloads that have a registry schema.

    A field is nullable if the schema allows null. The format omits the fields that no column can contain.

    Args:
        info: The registry schema.
        topic: The topic, for errors.
        descriptor: The user's Protobuf message. With a descriptor, `info` must be a Protobuf schema or have type NONE
            or BYTES.
        unfolding: How types that contain themselves become columns.

    Raises:
        SchemaError: If the schema is malformed or not supported.

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
    """Return the format for writing, in which messages contain every field of the schema.

    A write stores null in a field that no column can contain.

    Raises:
        SchemaError: If the schema is malformed or not supported.

    """
    payload = payload_schema(info, topic=topic)
    if payload.pair is not None:
        pair = split(info, topic=topic)
        key, value = (for_writing(side, topic=topic) for side in (pair.key, pair.value))
        return replace(payload, pair=replace(payload.pair, key=key, value=value))
    return replace(payload, definition=value_document(info)) if info.type in RECORD_TYPES else payload


def pair_payload(key: PayloadSchema, value: PayloadSchema, *, separated: bool) -> PayloadSchema:
    """Return the `key_value` format that combines a key format and a value format."""
    sides = ((KEY_COLUMN, key), (VALUE_COLUMN, value))
    omitted = tuple(one.below(f"{name}.") for name, side in sides for one in side.omitted)
    pair, shows_more = KeyValuePair(key, value, separated), key.shows_more or value.shows_more
    return PayloadSchema(KEY_VALUE_TYPE, pair=pair, omitted=omitted, shows_more=shows_more)


def value_document(info: SchemaInfo) -> str:
    """Return the Avro document of an AVRO or JSON schema. Raise SchemaError if the document is not UTF-8."""
    return json_document(info.text) if info.type is SchemaType.JSON else info.text


def with_times_as_numbers(payload: PayloadSchema, *, where: str) -> PayloadSchema:
    """Return the format in which JSON contains dates and times as numbers, in the units of the topic's schema."""
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
    """Return the format for reading, in which all fields of a JSON record are nullable.

    The kernel decodes JSON without the schema version of the message, so any message can lack a required field.
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
    """Return the format of Protobuf messages. Raise SchemaError if columns cannot contain the messages.

    Args:
        plan: The plan of the messages.
        where: The origin of the plan, for errors of this function.
        version: The version number in the registry, for errors of the kernel.
        unfolding: How types that contain themselves become columns.

    """
    held = column_plan(plan, unfolding, where=where)
    fields, document = held.plan.fields(where=where), held.plan.document(version)
    return PayloadSchema(PROTOBUF_VALUE, fields, document, omitted=held.omitted, shows_more=held.shows_more)


def written_schema(info: SchemaInfo, *, topic: str) -> PayloadSchema:
    """Return the format in which writers encode the messages of a schema version.

    A decoder resolves this format to the reader's format. The writer's format includes fields that no column
    can contain, because a decoder skips fields that the reader lacks.

    Raises:
        SchemaError: If the schema is malformed or not supported.

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
    """Return the columns into which a reader decodes a payload, in the time units of the payload's definition."""
    if payload.pair is not None:
        sides = ((KEY_COLUMN, payload.pair.key), (VALUE_COLUMN, payload.pair.value))
        return pa.schema([pa.field(name, side_type(side)) for name, side in sides])
    if payload.value_schema is not None:
        return payload.value_schema
    return pa.schema([pa.field(VALUE_COLUMN, side_type(payload))])


def side_type(side: PayloadSchema) -> pa.DataType:
    """Return the column type for a key format or a value format. A record becomes a struct."""
    if side.value_schema is not None:
        return pa.struct(list(side.value_schema))
    return _ARROW_TYPES[side.value_type]
