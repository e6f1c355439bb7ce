"""Sides of a pair in every format of records: round trip, restricted structs, and bad rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from unit.codec.sent_entries import entries_of

from pyspark_pulsar._kernel import EntryBatch, SendFrames
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import DecodeError
from pyspark_pulsar.schema.avro.to_arrow import list_of
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import ColumnChoice, ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.user_schema import restrict_to
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/orders"
VERSION = bytes(8)
KEY = pa.struct([("id", pa.int64()), ("region", pa.string())])
INNER = pa.struct([("a", pa.int32()), ("b", pa.string())])
VALUE = pa.struct(
    [("amount", pa.float64()), ("inner", INNER), ("tags", list_of(pa.string(), nullable=False))]
)
KEYS = [{"id": 7, "region": "eu"}, None, {"id": None, "region": None}, None]
VALUES = [
    {"amount": 1.5, "inner": {"a": 1, "b": "quince"}, "tags": ["x", "y"]},
    {"amount": None, "inner": None, "tags": []},
    None,
    None,
]
BATCH = pa.record_batch([pa.array(KEYS, KEY), pa.array(VALUES, VALUE)], names=["key", "value"])
EACH = [
    pytest.mark.parametrize("value_format", ["avro", "json", "protobuf"]),
    pytest.mark.parametrize("encoding", ["inline", "separated"]),
]
SIDES = [pytest.param("key", b"eu", b"\xff\xfe"), pytest.param("value", b"quince", b"qu\xffnce")]


def each_form(test: Any) -> Any:
    for mark in EACH:
        test = mark(test)
    return test


def sent(value_format: str, encoding: str) -> tuple[SchemaInfo, list[SendFrames]]:
    schema = resolve_write_schema(
        BATCH.schema, None, topic=TOPIC, key_value_encoding=encoding, value_format=value_format
    )
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=0, producer_name="p", next_sequence_id=0, schema_version=VERSION)
    return replace(schema.info, version=VERSION), encoder.encode(BATCH, 1_700_000_000_123)


def rows_of(
    read: ReadSchema, info: SchemaInfo, *pushed: EntryBatch, mode: str = "FAILFAST"
) -> list[dict[str, Any]]:
    decoder = EntryDecoder(read, topic=TOPIC, partition=-1, fetch_schema=lambda _: info, mode=mode)
    batches = [batch for entries in pushed for batch in decoder.decode(entries)]
    return [row for batch in (*batches, *decoder.finish()) for row in batch.to_pylist()]


@each_form
def test_records_are_read_back(value_format: str, encoding: str) -> None:
    info, frames = sent(value_format, encoding)
    read = resolve_read_schema(info, topic=TOPIC, columns=["*"])
    assert rows_of(read, info, entries_of(frames)) == BATCH.to_pylist()


@each_form
def test_structs_are_restricted_to_the_selected_fields(value_format: str, encoding: str) -> None:
    info, frames = sent(value_format, encoding)
    value = pa.struct([("inner", pa.struct([("b", pa.string())])), ("amount", pa.float64())])
    wanted = pa.schema([("value", value), ("key", pa.struct([("id", pa.int64())]))])
    read = restrict_to(resolve_read_schema(info, topic=TOPIC), wanted, topic=TOPIC)
    assert rows_of(read, info, entries_of(frames)) == [
        {"value": {"inner": {"b": "quince"}, "amount": 1.5}, "key": {"id": 7}},
        {"value": {"inner": None, "amount": None}, "key": None},
        {"value": None, "key": {"id": None}},
        {"value": None, "key": None},
    ]


def damaged(frames: list[SendFrames], good: bytes, bad: bytes) -> EntryBatch:
    """The entry without its checksum, some text of one side no longer UTF-8."""
    command = int.from_bytes(frames[0].frames[4:8], "big")
    entry = frames[0].frames[8 + command + 6 :]
    assert good in entry
    entries = EntryBatch()
    entries.push(3, 3, entry.replace(good, bad))
    return entries


@pytest.mark.parametrize(("side", "good", "bad"), SIDES)
@pytest.mark.parametrize("value_format", ["avro", "json", "protobuf"])
def test_a_bad_side_is_a_bad_row(value_format: str, side: str, good: bytes, bad: bytes) -> None:
    info, frames = sent(value_format, "inline")
    choice = ColumnChoice(["*", "_corrupt_record"], shows_bad_rows=True)
    read = resolve_read_schema(info, topic=TOPIC, columns=choice)
    rows = rows_of(read, info, entries_of(frames), damaged(frames, good, bad), mode="PERMISSIVE")
    assert [row["_corrupt_record"] is None for row in rows] == [row != 4 for row in range(8)]
    assert (rows[4]["key"], rows[4]["value"]) == (None, None)
    assert bad in rows[4]["_corrupt_record"]
    assert [row["key"] for row in rows[5:]] == KEYS[1:]
    plain = resolve_read_schema(info, topic=TOPIC, columns=["*"])
    assert len(rows_of(plain, info, damaged(frames, good, bad), mode="DROPMALFORMED")) == 3
    with pytest.raises(DecodeError, match=rf"entry 3, batch index 0: .*{side}: "):
        rows_of(plain, info, damaged(frames, good, bad))
    other = resolve_read_schema(info, topic=TOPIC, columns=["key" if side == "value" else "value"])
    assert len(rows_of(other, info, damaged(frames, good, bad))) == 4


def test_the_bad_row_of_a_separated_pair_holds_both_sides() -> None:
    info, frames = sent("avro", "separated")
    choice = ColumnChoice(["_corrupt_record", "value"], shows_bad_rows=True)
    read = resolve_read_schema(info, topic=TOPIC, columns=choice)
    rows = rows_of(read, info, damaged(frames, b"quince", b"qu\xffnce"), mode="PERMISSIVE")
    key = b"\x02\x0e\x02\x04eu"
    assert rows[0]["_corrupt_record"].startswith(len(key).to_bytes(4, "big") + key)
    assert rows[0]["_corrupt_record"].count(b"qu\xffnce") == 1
