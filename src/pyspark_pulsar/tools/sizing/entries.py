"""Entries of random rows for measurements, in the form in which producers write entries."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from google.protobuf import descriptor_pb2

from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC: Final = "persistent://public/default/sizing"
_PUBLISHED_MS: Final = 1_795_230_103_082
_SEED: Final = 20261124
_ENTRY_BYTES: Final = 1 << 20
_KINDS: Final = ("long", "string", "double", "boolean")
"""The types of the columns, which repeat in this order."""
_LETTERS: Final = string.ascii_letters + string.digits
_PROTOBUF: Final = {
    "long": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
    "boolean": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
}


def made_up_rows(rows: int, columns: int, text_bytes: int) -> pa.RecordBatch:
    """Return random rows, which are the same in each run. The types of the columns are `_KINDS`.

    Each text has `text_bytes` random letters and digits, which LZ4 does not compress.
    """
    source = random.Random(_SEED)  # noqa: S311 - no cryptography

    def column(kind: str) -> pa.Array:
        if kind == "long":
            return pa.array([source.getrandbits(40) for _ in range(rows)], pa.int64())
        if kind == "string":
            return pa.array(["".join(source.choices(_LETTERS, k=text_bytes)) for _ in range(rows)])
        if kind == "double":
            return pa.array([round(source.uniform(0, 1000), 2) for _ in range(rows)])
        return pa.array([source.getrandbits(1) == 1 for _ in range(rows)])

    return pa.RecordBatch.from_pydict({f"c{index}": column(kind) for index, kind in _column_kinds(columns)})


def made_up_bytes(rows: int, size: int) -> pa.RecordBatch:
    """Return random rows with one column `value` of `size` bytes."""
    source = random.Random(_SEED)  # noqa: S311 - no cryptography
    return pa.RecordBatch.from_pydict({"value": pa.array([source.randbytes(size) for _ in range(rows)])})


def schema_of_rows(kind: str, columns: int) -> SchemaInfo | None:
    """Return the schema of `made_up_rows`; None if the format is BYTES."""
    if kind == "BYTES":
        return None
    if kind == "PROTOBUF_NATIVE":
        return SchemaInfo("Row", SchemaType.PROTOBUF_NATIVE, _protobuf(columns), version=bytes(8))
    fields = [{"name": f"c{index}", "type": name} for index, name in _column_kinds(columns)]
    document = json.dumps({"type": "record", "name": "Row", "fields": fields})
    return SchemaInfo("Row", SchemaType[kind], document.encode(), version=bytes(8))


def encoder_of(rows: pa.RecordBatch, info: SchemaInfo | None, messages: int) -> BatchEncoder:
    """Return an encoder that writes `messages` messages into each entry, and compresses the entries with LZ4."""
    schema = resolve_write_schema(rows.schema, info, topic=TOPIC)
    encoder = BatchEncoder(
        schema,
        topic=TOPIC,
        partitions=1,
        compression="LZ4",
        batching_max_messages=messages,
        batching_max_bytes=_ENTRY_BYTES,
    )
    encoder.set_producer(
        0,
        producer_id=0,
        producer_name="producer",
        next_sequence_id=0,
        schema_version=None if info is None else bytes(8),
    )
    return encoder


def encode_entries(encoder: BatchEncoder, rows: pa.RecordBatch) -> list[bytes]:
    """Encode the rows, and return the entries in their stored form."""
    return [entry for sent in encoder.encode(rows, _PUBLISHED_MS) for entry in _entries(sent.frames)]


def encode_only(encoder: BatchEncoder, rows: pa.RecordBatch) -> None:
    """Encode the rows, and drop the entries."""
    encoder.encode(rows, _PUBLISHED_MS)


def _entries(frames: bytes) -> Iterator[bytes]:
    """Yield the entries in SEND frames. The form of a frame is `total size, command size, command, entry`."""
    at = 0
    while at < len(frames):
        total, command = (int.from_bytes(frames[at + i : at + i + 4], "big") for i in (0, 4))
        yield bytes(frames[at + 8 + command : at + 4 + total])
        at += 4 + total


def _column_kinds(columns: int) -> Sequence[tuple[int, str]]:
    return [(index, _KINDS[index % len(_KINDS)]) for index in range(columns)]


def _protobuf(columns: int) -> bytes:
    """Return the document of a PROTOBUF_NATIVE schema."""
    field = descriptor_pb2.FieldDescriptorProto
    message = descriptor_pb2.DescriptorProto(
        name="Row",
        field=[
            field(name=f"c{index}", number=index + 1, type=_PROTOBUF[kind], label=field.LABEL_OPTIONAL)
            for index, kind in _column_kinds(columns)
        ],
    )
    file = descriptor_pb2.FileDescriptorProto(
        name="sizing.proto", package="sizing", syntax="proto3", message_type=[message]
    )
    files = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    document = {
        "fileDescriptorSet": base64.b64encode(files).decode(),
        "rootMessageTypeName": "sizing.Row",
        "rootFileDescriptorName": "sizing.proto",
    }
    return json.dumps(document).encode()
