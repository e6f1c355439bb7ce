"""How one payload lies in bytes, as the kernel is told, and what a registry schema says about that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.schema.avro.json_document import json_document, times_as_numbers
from pyspark_pulsar.schema.avro.to_arrow import record_schema
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.schema.primitive import PRIMITIVES, RECORD_TYPES, VALUE_COLUMN, primitive_of
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

KEY_VALUE_TYPE: Final = "key_value"
"""The kernel's name of a schema that consists of two."""

KEY_COLUMN: Final = "key"

_ARROW_TYPES: Final = {primitive.value_type: primitive.arrow_type for primitive in PRIMITIVES.values()}


@dataclass(frozen=True)
class PayloadSchema:
    """Picklable; made on the driver for the executors.

    `value_type` is the kernel's name of the type: a primitive's, the format of a record, or `key_value`. For a
    record, `value_schema` holds its fields in the units of `definition`, and `definition` is what describes them, for
    Avro and JSON an Avro schema, for Protobuf a plan; both are None for others. `pair` is there for `key_value` only.
    """

    value_type: str
    value_schema: pa.Schema | None = None
    definition: str | None = None
    pair: KeyValuePair | None = None


@dataclass(frozen=True)
class KeyValuePair:
    """The sides of a KEY_VALUE schema, each a primitive or a record; `separated` when the key travels as the
    message's key and not inside the payload."""

    key: PayloadSchema
    value: PayloadSchema
    separated: bool


def payload_schema(
    info: SchemaInfo, *, topic: str, descriptor: DescriptorFile | None = None
) -> PayloadSchema:
    """How payloads of the schema `info` lie in bytes, fields nullable where their definition says so.

    With a `descriptor` they are its Protobuf messages; then `info` must be of Protobuf, or say nothing.
    `topic` names the origin in errors. Raises SchemaError for a schema that cannot become columns.
    """
    if descriptor is not None:
        plan = descriptor_plan(checked_descriptor(descriptor, info, topic=topic))
        return protobuf_payload(plan, descriptor.path)
    if info.type is SchemaType.KEY_VALUE:
        pair = split(info, topic=topic)
        key = payload_schema(pair.key, topic=f"{topic}, key of its KEY_VALUE schema")
        value = payload_schema(pair.value, topic=f"{topic}, value of its KEY_VALUE schema")
        return PayloadSchema(KEY_VALUE_TYPE, pair=KeyValuePair(key, value, pair.separated))
    if info.type in PROTOBUF_TYPES:
        where = f"topic {topic}, {info.type.name} schema"
        return protobuf_payload(registered_plan(info, where=where), where, version_number(info))
    primitive = primitive_of(info, topic=topic)
    if primitive is not None:
        return PayloadSchema(primitive.value_type)
    document = value_document(info)
    fields = record_schema(document, where=f"topic {topic}, {info.type.name} schema")
    return PayloadSchema(RECORD_TYPES[info.type], fields, document)


def value_document(info: SchemaInfo) -> str:
    """The Avro document of an AVRO or JSON schema by which values are read and written. Raises SchemaError."""
    return json_document(info.text) if info.type is SchemaType.JSON else info.text


def with_times_as_numbers(payload: PayloadSchema, *, where: str) -> PayloadSchema:
    """The same with the dates and times of JSON written as numbers in the unit that the topic's schema says."""
    if payload.pair is not None:
        key = with_times_as_numbers(payload.pair.key, where=where)
        value = with_times_as_numbers(payload.pair.value, where=where)
        return replace(payload, pair=replace(payload.pair, key=key, value=value))
    if payload.value_type != RECORD_TYPES[SchemaType.JSON] or payload.definition is None:
        return payload
    document = times_as_numbers(payload.definition)
    return replace(payload, value_schema=record_schema(document, where=where), definition=document)


def for_reading(payload: PayloadSchema) -> PayloadSchema:
    """The same to a reader, whom a message may always fail to give a field of a JSON record: JSON knows no
    versions, and a message may be older than a required field."""
    if payload.pair is not None:
        key, value = for_reading(payload.pair.key), for_reading(payload.pair.value)
        return replace(payload, pair=replace(payload.pair, key=key, value=value))
    if payload.value_type != RECORD_TYPES[SchemaType.JSON] or payload.value_schema is None:
        return payload
    fields = [pa.field(field.name, optional_type(field.type)) for field in payload.value_schema]
    return replace(payload, value_schema=pa.schema(fields))


def protobuf_payload(plan: ProtobufPlan, where: str, version: str = "") -> PayloadSchema:
    """How messages of the plan lie in bytes; `where` and `version` are for errors. Raises SchemaError."""
    return PayloadSchema(PROTOBUF_VALUE, plan.fields(where=where), plan.document(version))


def written_schema(info: SchemaInfo, *, topic: str) -> PayloadSchema:
    """What a decoder must know of another version of a topic's schema, to resolve it to the reader's.

    Fields that no column could hold do no harm here, since only those of the reader are read. Raises SchemaError.
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
    """The columns that the payload is to a reader, in the units of its definitions."""
    if payload.pair is not None:
        sides = ((KEY_COLUMN, payload.pair.key), (VALUE_COLUMN, payload.pair.value))
        return pa.schema([pa.field(name, side_type(side)) for name, side in sides])
    if payload.value_schema is not None:
        return payload.value_schema
    return pa.schema([pa.field(VALUE_COLUMN, side_type(payload))])


def side_type(side: PayloadSchema) -> pa.DataType:
    """The type of a side's column: a struct for a record."""
    if side.value_schema is not None:
        return pa.struct(list(side.value_schema))
    return _ARROW_TYPES[side.value_type]
