"""Entries built by hand after PulsarApi.proto, so that encoder bugs cannot hide decoder bugs, and decoders for them."""

import datetime as dt
import io
import json
import struct
from collections.abc import Callable

import fastavro

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import ColumnChoice, resolve_read_schema

TOPIC = "persistent://public/default/orders"
PUBLISHED_MS = 1_795_230_103_082
PUBLISHED = dt.datetime.fromtimestamp(PUBLISHED_MS / 1000, dt.UTC).replace(microsecond=82_000)
V1 = b"\0\0\0\0\0\0\0\1"
V2 = b"\0\0\0\0\0\0\0\2"
OLD = '{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}'
NEW = (
    '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},'
    '{"name":"tag","type":["null","string"],"default":null}]}'
)
JSON_INFO = SchemaInfo("x", SchemaType.JSON, NEW.encode())


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def proto(*fields: tuple[int, int | bytes]) -> bytes:
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def entry(payload: bytes, *fields: tuple[int, int | bytes]) -> bytes:
    """Return an entry without the optional checksum.

    Fields of MessageMetadata: 1 is the producer, 2 the sequence id, 3 the publish time.
    """
    metadata = proto((1, b"producer"), (2, 41), (3, PUBLISHED_MS), *fields)
    return struct.pack(">I", len(metadata)) + metadata + payload


def batched(*messages: bytes) -> bytes:
    """11 is the number of messages; SingleMessageMetadata 3 is the payload's size."""
    singles = b""
    for message in messages:
        single = proto((3, len(message)))
        singles += struct.pack(">I", len(single)) + single + message
    return entry(singles, (11, len(messages)))


def no_fetch(version: bytes) -> SchemaInfo | None:
    raise AssertionError(f"asked for {version!r}")


def decoder(
    info: SchemaInfo | None,
    columns: list[str] | None = None,
    *,
    partition: int = 2,
    fetch: Callable[[bytes], SchemaInfo | None] = no_fetch,
    batch_rows: int = 100,
    start: tuple[int, int, int] | None = None,
    end: tuple[int, int, int] | None = None,
    intake: Intake | None = None,
) -> EntryDecoder:
    return EntryDecoder(
        resolve_read_schema(info, topic=TOPIC, columns=columns),
        topic=TOPIC,
        partition=partition,
        fetch_schema=fetch,
        batch_rows=batch_rows,
        start=start,
        end=end,
        intake=intake,
    )


def pushed(*entries: bytes) -> EntryBatch:
    found = EntryBatch()
    for number, data in enumerate(entries):
        found.push(7, number, data)
    return found


def rows_of(over: EntryDecoder, *entries: bytes) -> list[dict[str, object]]:
    found = [*over.decode(pushed(*entries)), *over.finish()]
    return [row for batch in found for row in batch.to_pylist(maps_as_pydicts="strict")]


def avro(record: dict[str, object], document: str) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(document)), record)
    return out.getvalue()


def lenient(
    info: SchemaInfo,
    mode: str,
    *,
    fetch: Callable[[bytes], SchemaInfo | None] = no_fetch,
    columns: ColumnChoice | None = None,
    query_identity: str | None = None,
) -> EntryDecoder:
    choice = columns or ColumnChoice(["id", "_corrupt_record", "__messageSize"])
    schema = resolve_read_schema(info, topic=TOPIC, columns=choice)
    return EntryDecoder(
        schema, topic=TOPIC, partition=2, fetch_schema=fetch, mode=mode, batch_rows=100, query_identity=query_identity
    )  # fmt: skip


def avro_info(document: str, version: bytes | None = None) -> SchemaInfo:
    return SchemaInfo("x", SchemaType.AVRO, document.encode(), version=version)
