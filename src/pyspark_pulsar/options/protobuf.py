"""Protobuf descriptors from the user, for topics whose schema does not describe the messages."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import both_or_none, option
from pyspark_pulsar.options.parsers import text


@dataclass(frozen=True, kw_only=True)
class ProtobufOptions(ConnectionOptions):
    """A descriptor file and the name of a message in it, for reading and writing."""

    protobuf_descriptor_file: str | None = option(
        "protobufDescriptorFile",
        text("a path such as /schemas/shop.desc"),
        "Path of a descriptor file on the driver, written by `protoc --include_imports --descriptor_set_out`. It "
        "describes the messages of a topic with a `PROTOBUF` schema or without a schema. If the topic has no schema, a "
        "write registers the descriptor as `PROTOBUF_NATIVE`.",
        default=None,
        unset="the topic's schema alone describes the messages",
    )
    protobuf_message: str | None = option(
        "protobufMessage",
        text("the full name of a message, such as shop.v1.Order"),
        "Full name of the message in `protobufDescriptorFile`.",
        default=None,
        unset="the topic's schema alone describes the messages",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        both_or_none(self, ("protobuf_descriptor_file", "protobuf_message"))
