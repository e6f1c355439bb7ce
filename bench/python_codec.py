"""The fastest known decoding and encoding of entries in Python, with native libraries for the parts.

The libraries are upb for Pulsar's own metadata, lz4, orjson, fastavro (compiled) and protobuf's upb messages. The
library pyarrow builds the columns. Like the kernel, the codec verifies and writes CRC32C checksums, with google-crc32c
(compiled, with the processor's instruction).

The codec does no optional work. Columns are collected as lists and converted once. Arrow's cast sets logical types per
column instead of per value.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import fastavro
import google_crc32c
import lz4.block
import orjson
import pyarrow as pa
import pyarrow.json as arrow_json
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from pyspark_pulsar.schema.metadata_columns import FIELDS as METADATA

_CHECKSUM_MAGIC = b"\x0e\x01"
_KIND = descriptor_pb2.FieldDescriptorProto
_OPTIONAL, _REPEATED = _KIND.LABEL_OPTIONAL, _KIND.LABEL_REPEATED
_LZ4: Final = 1
_INSTANT = METADATA["__publishTime"].type

TIMESTAMP_FILE: Final = descriptor_pb2.FileDescriptorProto()
timestamp_pb2.DESCRIPTOR.CopyToProto(TIMESTAMP_FILE)

Entry = tuple[int, int, bytes]
"""Ledger id, entry id and the bytes of an entry."""

Values = Callable[[list[bytes]], list[pa.Array]]
"""A function from payloads to the value columns."""


def _classes() -> dict[str, Any]:
    """Return Python classes for the part of PulsarApi.proto that a reader needs, on the fastest runtime."""
    file = descriptor_pb2.FileDescriptorProto(name="bench.proto", package="bench", syntax="proto2")
    numbers = {"int32": _KIND.TYPE_INT32, "uint64": _KIND.TYPE_UINT64, "string": _KIND.TYPE_STRING}
    numbers |= {"bool": _KIND.TYPE_BOOL, "bytes": _KIND.TYPE_BYTES, "double": _KIND.TYPE_DOUBLE}
    numbers |= {"int64": _KIND.TYPE_INT64}
    messages = {
        "KeyValue": "string key 1, string value 2",
        "Metadata": "string producer 1, uint64 sequence 2, uint64 published 3, int32 codec 8, int32 size 9, "
        "int32 messages 11, bytes version 16",
        "Single": "KeyValue* properties 1, string key 2, int32 size 3, uint64 event 5, bool base64 6, "
        "bytes ordering 7, uint64 sequence 8, bool none 9",
        "Order": "int64 id 1, string user 2, double amount 3, Timestamp ts 4, string tag? 5, bool flag 6",
    }
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            kind, field, number = text.split()
            added = message.field.add(name=field.rstrip("?"), number=int(number), label=_OPTIONAL)
            if kind == "Timestamp":
                added.type, added.type_name = _KIND.TYPE_MESSAGE, ".google.protobuf.Timestamp"
            elif kind.endswith("*"):
                added.label, added.type, added.type_name = _REPEATED, _KIND.TYPE_MESSAGE, ".bench.KeyValue"
            else:
                added.type = numbers[kind]
    file.dependency.append(TIMESTAMP_FILE.name)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(TIMESTAMP_FILE)
    pool.Add(file)
    found = pool.FindFileByName("bench.proto")
    return {name: message_factory.GetMessageClass(found.message_types_by_name[name]) for name in messages}


CLASSES: Final = _classes()
ORDER_COLUMNS: Final = ("id", "user", "amount", "ts", "tag", "flag")


def messages_of(
    entries: Iterable[Entry],
) -> Iterator[tuple[int, int, Any, list[Any], list[bytes]]]:
    """Yield the ids and metadata of each entry, with the metadata and payloads of the entry's messages."""
    parse_metadata, parse_single = CLASSES["Metadata"].FromString, CLASSES["Single"].FromString
    size_of = struct.Struct(">I").unpack_from
    for ledger, entry, data in entries:
        start = 0
        if data.startswith(_CHECKSUM_MAGIC):
            start = 6
            if google_crc32c.value(data[start:]) != size_of(data, 2)[0]:
                raise ValueError(f"checksum mismatch in entry {ledger}:{entry}")
        (length,) = size_of(data, start)
        metadata = parse_metadata(data[start + 4 : start + 4 + length])
        payload = data[start + 4 + length :]
        if metadata.codec == _LZ4:
            payload = lz4.block.decompress(payload, uncompressed_size=metadata.size)
        singles, bodies, at = [], [], 0
        for _ in range(metadata.messages):
            (length,) = size_of(payload, at)
            end = at + 4 + length
            single = parse_single(payload[at + 4 : end])
            at = end + single.size
            singles.append(single)
            bodies.append(payload[end:at])
        yield ledger, entry, metadata, singles, bodies


def decode(entries: Iterable[Entry], values: Values, schema: pa.Schema, topic: str) -> pa.Table:
    """Decode all value columns and all metadata columns of batched entries without byte keys or null values."""
    cells: dict[str, list[Any]] = {name: [] for name in METADATA}
    ledgers: list[int] = []
    numbers: list[int] = []
    indexes: list[int] = []
    payloads: list[bytes] = []
    for ledger, entry, metadata, singles, bodies in messages_of(entries):
        count = len(singles)
        payloads += bodies
        ledgers += [ledger] * count
        numbers += [entry] * count
        indexes += range(count)
        cells["__publishTime"] += [metadata.published] * count
        cells["__producerName"] += [metadata.producer] * count
        cells["__schemaVersion"] += [int.from_bytes(metadata.version, "big")] * count
        cells["__messageSize"] += [len(body) for body in bodies]
        cells["__sequenceId"] += [single.sequence for single in singles]
        cells["__eventTime"] += [single.event or None for single in singles]
        cells["__orderingKey"] += [single.ordering or None for single in singles]
        cells["__key"] += [single.key.encode() if single.HasField("key") else None for single in singles]
        cells["__messageProperties"] += [
            [(pair.key, pair.value) for pair in single.properties] for single in singles
        ]
    rows = len(payloads)
    cells["__topic"], cells["__partition"] = [topic] * rows, [-1] * rows
    # No other cluster replicated these entries, and no broker added an index or a time to them.
    for name in ("__replicatedFrom", "__index", "__brokerPublishTime"):
        cells[name] = [None] * rows
    columns = values(payloads)
    for field in list(schema)[len(columns) :]:
        if field.name == "__messageId":
            partitions = pa.array([-1] * rows, pa.int32())
            parts = [pa.array(ledgers), pa.array(numbers), pa.array(indexes, pa.int32()), partitions]
            columns.append(pa.StructArray.from_arrays(parts, fields=list(field.type)))
        elif field.type == _INSTANT:
            milliseconds = pa.array(cells[field.name], pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
            columns.append(milliseconds.cast(_INSTANT))
        else:
            columns.append(pa.array(cells[field.name], field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _columns(cells: Iterable[list[Any]]) -> list[pa.Array]:
    kinds = (pa.int64(), pa.string(), pa.float64(), pa.int64(), pa.string(), pa.bool_())
    arrays = [pa.array(each, kind) for each, kind in zip(cells, kinds, strict=True)]
    arrays[3] = arrays[3].cast(pa.timestamp("ms", tz="UTC")).cast(_INSTANT)
    return arrays


def json_values(payloads: list[bytes]) -> list[pa.Array]:
    rows = list(map(orjson.loads, payloads))
    return _columns([row.get(name) for row in rows] for name in ORDER_COLUMNS)


def joined_json_values(payloads: list[bytes]) -> list[pa.Array]:
    """Decode all payloads with Arrow's own JSON reader in C++. The result is correct only for objects in one line."""
    kinds = (pa.int64(), pa.string(), pa.float64(), pa.int64(), pa.string(), pa.bool_())
    schema = pa.schema(list(zip(ORDER_COLUMNS, kinds, strict=True)))
    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    reading = arrow_json.ReadOptions(use_threads=False, block_size=1 << 24)
    table = arrow_json.read_json(pa.BufferReader(b"\n".join(payloads)), reading, options)
    arrays = [column.combine_chunks() for column in table.columns]
    arrays[3] = arrays[3].cast(pa.timestamp("ms", tz="UTC")).cast(_INSTANT)
    return arrays


def avro_values(document: dict[str, Any]) -> Values:
    """Return a decoder of values. `document` must have no logical types, which fastavro would convert one by one."""
    schema = fastavro.parse_schema(document)

    def values(payloads: list[bytes]) -> list[pa.Array]:
        read = fastavro.schemaless_reader
        rows = [read(io.BytesIO(payload), schema, None) for payload in payloads]
        return _columns([row[name] for row in rows] for name in ORDER_COLUMNS)

    return values


def protobuf_values(payloads: list[bytes]) -> list[pa.Array]:
    rows = list(map(CLASSES["Order"].FromString, payloads))
    columns = [[getattr(row, name) for row in rows] for name in ORDER_COLUMNS]
    columns[3] = [at.seconds * 1000 + at.nanos // 1_000_000 for at in columns[3]]
    columns[4] = [row.tag if row.HasField("tag") else None for row in rows]
    return _columns(columns)


def avro_payload(document: dict[str, Any]) -> Callable[[dict[str, Any]], bytes]:
    schema = fastavro.parse_schema(document)

    def payload(row: dict[str, Any]) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, row)
        return out.getvalue()

    return payload


def protobuf_payload(row: dict[str, Any]) -> bytes:
    seconds, milliseconds = divmod(row["ts"], 1000)
    order = CLASSES["Order"](**{name: value for name, value in row.items() if name != "ts"})
    order.ts.seconds, order.ts.nanos = seconds, milliseconds * 1_000_000
    return bytes(order.SerializeToString())


def encode(
    rows: pa.RecordBatch,
    payload: Callable[[dict[str, Any]], bytes],
    published: int,
    first: int,
    messages: int,
) -> list[bytes]:
    """Return batched LZ4 entries with checksum, of `messages` messages each; sequence ids begin at `first`."""
    single_class, metadata_class = CLASSES["Single"], CLASSES["Metadata"]
    pair_class = CLASSES["KeyValue"]
    names = [name for name in rows.schema.names if not name.startswith("__")]
    about = rows.select(["__key", "__messageProperties"]).to_pydict()
    values = rows.select(names)
    position = values.schema.get_field_index("ts")
    number = values.column(position).cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
    bodies = [payload(row) for row in values.set_column(position, "ts", number).to_pylist()]
    found, frame = [], struct.Struct(">I").pack
    for start in range(0, len(bodies), messages):
        parts = []
        for index in range(start, min(start + messages, len(bodies))):
            key, properties = about["__key"][index], about["__messageProperties"][index]
            single = single_class(size=len(bodies[index]), sequence=first + index)
            if key is not None:
                single.key = key.decode()
            if properties:
                single.properties.extend([pair_class(key=k, value=v) for k, v in properties])
            head = single.SerializeToString()
            parts += (frame(len(head)), head, bodies[index])
        raw = b"".join(parts)
        count = len(parts) // 3
        metadata = metadata_class(
            producer="producer", sequence=first + start, published=published, codec=_LZ4, size=len(raw)
        )
        metadata.messages, metadata.version = count, bytes(8)
        head = metadata.SerializeToString()
        rest = frame(len(head)) + head + lz4.block.compress(raw, store_size=False)
        found.append(_CHECKSUM_MAGIC + frame(google_crc32c.value(rest)) + rest)
    return found
