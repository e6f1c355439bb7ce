"""Payloads made by others, as messages of a topic, and what the decoder makes of them."""

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow as pa
from unit.codec.sent_entries import entries_of

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/t"
WRITER = b"\0\0\0\0\0\0\0\3"


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    """A record of (name, type) or (name, type, default), or of fields as they are."""
    made = []
    for field in fields:
        if isinstance(field, dict):
            made.append(field)
        else:
            made.append(dict(zip(("name", "type", "default"), field, strict=False)))
    return {"type": "record", "name": name, "fields": made, **more}


def avro_bytes(document: dict[str, Any], value: dict[str, Any]) -> bytes:
    """Encode a value with fastavro."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(document), value)
    return out.getvalue()


def entries(*payloads: bytes | None, version: bytes | None = WRITER) -> EntryBatch:
    """Messages with these payloads as they are."""
    batch = pa.record_batch([pa.array(payloads, pa.binary())], names=["value"])
    encoder = BatchEncoder(resolve_write_schema(batch.schema, None, topic=TOPIC), topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=version)
    return entries_of(encoder.encode(batch, 1))


def decoded(
    kind: str, reader: dict[str, Any], found: EntryBatch, writer: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return all value columns of messages that name `writer`, read with `reader` (by default the same
    schema).
    """
    info = SchemaInfo("R", SchemaType[kind], json.dumps(reader).encode())
    schema = resolve_read_schema(info, topic=TOPIC, columns=["*"])
    own = replace(info, document=json.dumps(writer or reader).encode())
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: own)
    batches = [*decoder.decode(found), *decoder.finish()]
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema.equals(schema.output_schema, check_metadata=True)
    return [row for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict")]


def resolved(writer: dict[str, Any], reader: dict[str, Any], *values: dict[str, Any]) -> list[dict[str, Any]]:
    """Values written by fastavro under `writer`, read by `reader`."""
    payloads = [avro_bytes(writer, value) for value in values]
    return decoded("AVRO", reader, entries(*payloads), writer)


def written(
    kind: str, document: dict[str, Any], rows: list[dict[str, Any]]
) -> tuple[EntryBatch, list[bytes]]:
    """Rows written to a topic of that schema: the entries, and the payloads in them."""
    info = SchemaInfo("R", SchemaType[kind], json.dumps(document).encode())
    columns = resolve_read_schema(info, topic=TOPIC, columns=["*"]).output_schema
    arrays = [pa.array([row[field.name] for row in rows], field.type) for field in columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=columns)
    encoder = BatchEncoder(resolve_write_schema(columns, info, topic=TOPIC), topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=WRITER)
    sent = encoder.encode(batch, 1)
    raw = resolve_read_schema(None, topic=TOPIC, columns=["value"])
    decoder = EntryDecoder(raw, topic=TOPIC, partition=-1, fetch_schema=lambda _: None)
    payloads = [*decoder.decode(entries_of(sent)), *decoder.finish()]
    return entries_of(sent), [value for each in payloads for value in each.column("value").to_pylist()]
