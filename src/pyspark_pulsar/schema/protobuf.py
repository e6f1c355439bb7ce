"""The registry's Protobuf schemas, of both kinds, as plans."""

from __future__ import annotations

from typing import Final

from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.protobuf_descriptor import DescriptorFile, descriptor_plan, native_descriptor
from pyspark_pulsar.schema.protobuf_parsing_info import parsing_info_plan
from pyspark_pulsar.schema.protobuf_plan import ProtobufPlan

PROTOBUF_TYPES: Final = (SchemaType.PROTOBUF_NATIVE, SchemaType.PROTOBUF)
VALUE_TYPE: Final = "protobuf"
"""The kernel's name of both."""


def registered_plan(info: SchemaInfo, *, where: str) -> ProtobufPlan:
    """The plan of a schema of one of `PROTOBUF_TYPES`. Raises SchemaError."""
    if info.type is SchemaType.PROTOBUF_NATIVE:
        return descriptor_plan(native_descriptor(info.text, where=where))
    return parsing_info_plan(info, where=where)


def protobuf_payload(
    info: SchemaInfo | None, *, where: str, descriptor: DescriptorFile | None = None
) -> PayloadSchema:
    """How values lie in bytes: as `descriptor` says, else as the registry's schema `info` does.

    Raises SchemaError, also for messages that contain themselves.
    """
    if descriptor is not None:
        plan, version = descriptor_plan(descriptor.descriptor()), ""
    else:
        assert info is not None  # noqa: S101 -- callers have the one or the other
        plan, version = registered_plan(info, where=where), _version(info)
    return PayloadSchema(VALUE_TYPE, plan.fields(where=where), plan.document(version))


def writer_document(info: SchemaInfo, *, where: str) -> str:
    """What the kernel must know of a schema version to resolve it to the reader's: for the types of
    `PROTOBUF_TYPES` a plan, for others the document itself. Raises SchemaError."""
    if info.type not in PROTOBUF_TYPES:
        return info.text
    return registered_plan(info, where=where).document(_version(info))


def _version(info: SchemaInfo) -> str:
    return "" if info.version is None else str(int.from_bytes(info.version, "big", signed=True))
