"""Columns of one schema become messages again, which another schema reads as the messages that they were."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from unit.codec.raw_payloads import TOPIC, avro_bytes, entries, record

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.payload_rows import BAD_COLUMN, PayloadRows, entries_of
from pyspark_pulsar.errors import DecodeError, ProtocolError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema

VERSION = 3


def info_of(kind: str, document: dict[str, Any] | None = None) -> SchemaInfo:
    data = b"" if document is None else json.dumps(document).encode()
    return SchemaInfo("R", SchemaType[kind], data, version=VERSION.to_bytes(8, "big"))


def read(schema: ReadSchema, found: EntryBatch, written: SchemaInfo) -> pa.RecordBatch:
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: written)
    batches = [*decoder.decode(found), *decoder.finish()]
    return pa.Table.from_batches(batches, schema.output_schema).combine_chunks().to_batches()[0]


def schema_of(info: SchemaInfo, *further: str) -> ReadSchema:
    return resolve_read_schema(info, topic=TOPIC, columns=["*", *further])


def as_entries(*args: Any, **more: Any) -> EntryBatch:
    found = EntryBatch()
    for number, data in enumerate(entries_of(*args, **more)):
        found.push(7, number, data)
    return found


NEEDED = ("__key", "__schemaVersion", "__messageId")


def test_columns_are_read_by_another_schema() -> None:
    old = record(("a", "int"), ("b", ["null", "string"], None))
    new = record(("b", ["null", "string"], None), ("a", "double"), ("c", "int", 9))
    written, reader = info_of("AVRO", old), replace(info_of("AVRO", new), version=b"\0" * 8)
    stored = read(
        schema_of(written, *NEEDED),
        entries(*(avro_bytes(old, {"a": a, "b": b}) for a, b in [(1, "x"), (-2, None)])),
        written,
    )
    rows = PayloadRows(schema_of(reader), topic=TOPIC, partition=-1, fetch_schema=lambda _: written)
    found = rows.decode_columns(stored, schema_of(written).value)
    assert found.to_pylist() == [
        {"b": "x", "a": 1.0, "c": 9, BAD_COLUMN: None},
        {"b": None, "a": -2.0, "c": 9, BAD_COLUMN: None},
    ]


def test_missing_columns_are_null_and_tombstones_are_null_values() -> None:
    info = info_of("AVRO", record(("a", "int"), ("b", ["null", "string"], None)))
    batch = pa.record_batch({"a": pa.array([1, None], pa.int32()), "__tombstone": pa.array([False, True])})
    found = as_entries(batch, schema_of(info).value, VERSION)
    rows = read(schema_of(info, "__messageSize", "__schemaVersion"), found, info).to_pylist()
    assert rows == [
        {"a": 1, "b": None, "__messageSize": 2, "__schemaVersion": VERSION},
        {"a": None, "b": None, "__messageSize": 0, "__schemaVersion": VERSION},
    ]


def test_a_kept_payload_without_bytes_is_no_null_value() -> None:
    written = info_of("AVRO", record(("n", "null")))
    reader = info_of("AVRO", record(("n", "null"), ("c", "int", 9)))
    messages = pa.record_batch(
        {
            "__key": pa.nulls(1, pa.binary()),
            "__schemaVersion": pa.array([VERSION], pa.int64()),
            "__messageId": pa.array([{"ledger": 1, "entry": 2}]),
        }
    )
    rows = PayloadRows(schema_of(reader), topic=TOPIC, partition=-1, fetch_schema=lambda _: written)
    found = rows.decode(messages, pa.array([b""], pa.binary()))
    assert found.column("c").to_pylist() == [9]
    assert found.column(BAD_COLUMN).null_count == 1


@pytest.mark.parametrize("separated", [True, False])
def test_pairs(separated: bool) -> None:
    old, new = (
        replace(
            join(KeyValueSchemas(info_of("STRING"), info_of("AVRO", document), separated=separated)),
            version=VERSION.to_bytes(8, "big"),
        )
        for document in (record(("a", "int")), record(("a", "long"), ("c", "int", 9)))
    )
    sides = [("k", {"a": 1}), (None, {"a": 2}), ("", None), (None, None)]
    batch = pa.RecordBatch.from_pylist(
        [{"key": key, "value": value, "__key": b"not this one"} for key, value in sides],
        pa.schema([("key", pa.string()), ("value", pa.struct([("a", pa.int32())])), ("__key", pa.binary())]),
    )
    found = read(schema_of(new), as_entries(batch, schema_of(old).value, VERSION), old).to_pylist()
    assert found == [
        {"key": key, "value": None if value is None else {**value, "c": 9}} for key, value in sides
    ]


def test_rows_without_a_message_of_the_schema_are_refused() -> None:
    info = info_of("AVRO", record(("a", "int")))
    batch = pa.record_batch({"a": pa.array([None], pa.int32())})
    with pytest.raises(ProtocolError, match=r"field a: expected a value, got null.*report this as a bug"):
        list(entries_of(batch, schema_of(info).value, VERSION))


def test_the_error_of_a_bad_row_names_the_message() -> None:
    written = info_of("AVRO", record(("t", "long")))
    reader = info_of("AVRO", record(("t", {"type": "long", "logicalType": "time-micros"})))
    rows = PayloadRows(schema_of(reader), topic=TOPIC, partition=-1, fetch_schema=lambda _: written)
    messages = pa.record_batch(
        {
            "t": pa.array([1, -1], pa.int64()),
            "__key": pa.nulls(2, pa.binary()),
            "__schemaVersion": pa.array([VERSION] * 2, pa.int64()),
            "__messageId": pa.array([{"ledger": 1, "entry": 2}, {"ledger": 1, "entry": 3}]),
        }
    )
    value = schema_of(written).value
    assert rows.decode_columns(messages, value).column(BAD_COLUMN).to_pylist() == [None, b"\x01"]
    with pytest.raises(DecodeError, match=r"ledger 1, entry 3.*expected a time of day"):
        rows.fail_columns(messages, value, 1)
