"""Plans of registry schemas with the types PROTOBUF and PROTOBUF_NATIVE."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import Descriptor

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile, descriptor_plan, native_descriptor
from pyspark_pulsar.schema.protobuf.parsing_info import parsing_info_plan
from pyspark_pulsar.schema.protobuf.plan import ProtobufPlan

PROTOBUF_TYPES: Final = (SchemaType.PROTOBUF_NATIVE, SchemaType.PROTOBUF)
PROTOBUF_VALUE: Final = "protobuf"
"""The kernel's name for the format of both Protobuf schema types."""

_NO_SCHEMA: Final = (SchemaType.NONE, SchemaType.BYTES)


def registered_plan(info: SchemaInfo, *, where: str) -> ProtobufPlan:
    """Return the plan of a schema with a type in `PROTOBUF_TYPES`. Raise SchemaError if the schema is malformed."""
    if info.type is SchemaType.PROTOBUF_NATIVE:
        return descriptor_plan(native_descriptor(info.text, where=where))
    return parsing_info_plan(info, where=where)


def checked_descriptor(descriptor: DescriptorFile, info: SchemaInfo, *, topic: str) -> Descriptor:
    """Return the message descriptor in the user's file, for a topic with the schema `info`.

    Raises:
        SchemaError: If the topic has a schema that is not Protobuf, or if the file is malformed.

    """
    if info.type not in (*PROTOBUF_TYPES, *_NO_SCHEMA):
        raise SchemaError(
            f"topic {topic}: expected a Protobuf schema or none, because protobufDescriptorFile is set, got "
            f"{info.type.name}; leave the option out"
        )
    return descriptor.descriptor()


def version_number(info: SchemaInfo) -> str:
    """Return the schema version as a decimal number, or an empty text if the schema has no version."""
    return "" if info.version is None else str(int.from_bytes(info.version, "big", signed=True))
