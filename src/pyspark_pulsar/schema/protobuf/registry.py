"""The registry's Protobuf schemas, of both kinds, as plans."""

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
"""The kernel's name of both."""

_SAYS_NOTHING: Final = (SchemaType.NONE, SchemaType.BYTES)


def registered_plan(info: SchemaInfo, *, where: str) -> ProtobufPlan:
    """The plan of a schema of one of `PROTOBUF_TYPES`. Raises SchemaError."""
    if info.type is SchemaType.PROTOBUF_NATIVE:
        return descriptor_plan(native_descriptor(info.text, where=where))
    return parsing_info_plan(info, where=where)


def checked_descriptor(descriptor: DescriptorFile, info: SchemaInfo, *, topic: str) -> Descriptor:
    """The user's descriptor for a topic with the schema `info`. Raises SchemaError when the topic's values are
    not Protobuf, or the file is of no use."""
    if info.type not in (*PROTOBUF_TYPES, *_SAYS_NOTHING):
        raise SchemaError(
            f"topic {topic}: expected a Protobuf schema or none beside protobufDescriptorFile, got "
            f"{info.type.name}; leave the option out"
        )
    return descriptor.descriptor()


def version_number(info: SchemaInfo) -> str:
    """The registry version as people know it; empty when there is none."""
    return "" if info.version is None else str(int.from_bytes(info.version, "big", signed=True))
