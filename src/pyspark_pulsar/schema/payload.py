"""How one payload lies in bytes, as the kernel is told, and what a registry schema says about that."""

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
"""The kernel's name of a schema that consists of two."""

KEY_COLUMN: Final = "key"

_ARROW_TYPES: Final = {primitive.value_type: primitive.arrow_type for primitive in PRIMITIVES.values()}


@dataclass(frozen=True)
class PayloadSchema:
    """Picklable; made on the driver for the executors.

    `value_type` is the kernel's name of the type: a primitive's, the format of a record, or `key_value`. For a
    record, `value_schema` holds its fields in the units of `definition`, and `definition` is what describes them, for
    Avro and JSON an Avro schema, for Protobuf a plan; both are None for others. `pair` is there for `key_value` only.
    `omitted` are the fields that no column holds, which neither `value_schema` nor a reader's `definition` has;
    `shows_more` says that there are fields that are left out where nothing asks for them, as in tables.
    """

    value_type: str
    value_schema: pa.Schema | None = None
    definition: str | None = None
    pair: KeyValuePair | None = None
    omitted: tuple[Omission, ...] = ()
    shows_more: bool = False


@dataclass(frozen=True)
class KeyValuePair:
    """The sides of a KEY_VALUE schema, each a primitive or a record; `separated` when the key travels as the
    message's key and not inside the payload."""

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
    """How payloads of the schema `info` lie in bytes, fields nullable where their definition says so.

    With a `descriptor` they are its Protobuf messages; then `info` must be of Protobuf, or say nothing.
    `topic` names the origin in errors. Fields that no column holds are left out. Raises SchemaError for a schema that
    is not valid.
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
    """The same to a writer, whose messages have every field of the schema: of what no column holds it writes null.

    Raises SchemaError.
    """
    payload = payload_schema(info, topic=topic)
    if payload.pair is not None:
        pair = split(info, topic=topic)
        key, value = (for_writing(side, topic=topic) for side in (pair.key, pair.value))
        return replace(payload, pair=replace(payload.pair, key=key, value=value))
    return replace(payload, definition=value_document(info)) if info.type in RECORD_TYPES else payload


def pair_payload(key: PayloadSchema, value: PayloadSchema, *, separated: bool) -> PayloadSchema:
    """How the sides of a pair lie in bytes together."""
    sides = ((KEY_COLUMN, key), (VALUE_COLUMN, value))
    omitted = tuple(one.below(f"{name}.") for name, side in sides for one in side.omitted)
    pair, shows_more = KeyValuePair(key, value, separated), key.shows_more or value.shows_more
    return PayloadSchema(KEY_VALUE_TYPE, pair=pair, omitted=omitted, shows_more=shows_more)


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
    shown = column_document(document, where=where).text
    return replace(payload, value_schema=record_schema(shown, where=where), definition=document)


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


def protobuf_payload(
    plan: ProtobufPlan, where: str, version: str = "", *, unfolding: Unfolding = UNFOLDED_ONCE
) -> PayloadSchema:
    """How messages of the plan lie in bytes; `where` and `version` are for errors. Raises SchemaError."""
    shown = column_plan(plan, unfolding, where=where)
    fields, document = shown.plan.fields(where=where), shown.plan.document(version)
    return PayloadSchema(PROTOBUF_VALUE, fields, document, omitted=shown.omitted, shows_more=shown.shows_more)


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
