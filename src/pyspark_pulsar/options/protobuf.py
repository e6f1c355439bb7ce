"""What the messages of a topic are, where its schema does not say it: Protobuf descriptors that the user gives."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import both_or_none, option
from pyspark_pulsar.options.parsers import text


@dataclass(frozen=True, kw_only=True)
class ProtobufOptions(ConnectionOptions):
    """A file of descriptors and the message in it; the same for reading and writing."""

    protobuf_descriptor_file: str | None = option(
        "protobufDescriptorFile",
        text,
        "Path on the driver of a file of `protoc --include_imports --descriptor_set_out`: what the messages of a "
        "topic with a `PROTOBUF` schema are, or of one without schema; a writer registers it as "
        "`PROTOBUF_NATIVE` where the topic has no schema.",
        default=None,
    )
    protobuf_message: str | None = option(
        "protobufMessage",
        text,
        "Full name of the message in `protobufDescriptorFile`, such as `shop.v1.Order`.",
        default=None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        both_or_none(self, ("protobuf_descriptor_file", "protobuf_message"))
