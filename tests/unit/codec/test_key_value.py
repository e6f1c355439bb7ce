"""Key-value messages that Java's own schemas made, decoded to columns."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from unit.codec.handmade_entries import entry as unversioned
from unit.java_key_values import VERSION, java_pairs

from pyspark_pulsar._kernel import EntryBatch, SendFrames
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import DecodeError, SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join, split
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/orders"
GOLDEN = java_pairs()
CASES = pytest.mark.parametrize("case", GOLDEN, ids="-".join)


def rows_of(
    info: SchemaInfo,
    entries: list[bytes],
    columns: list[str],
    fetch: Callable[[bytes], SchemaInfo | None] | None = None,
) -> list[dict[str, Any]]:
    read = resolve_read_schema(info, topic=TOPIC, columns=columns)
    decoder = EntryDecoder(read, topic=TOPIC, partition=-1, fetch_schema=fetch or (lambda _: info))
    pushed = EntryBatch()
    for number, data in enumerate(entries):
        pushed.push(7, number, data)
    return [row for batch in (*decoder.decode(pushed), *decoder.finish()) for row in batch.to_pylist()]


def entry_of_version(entry: bytes, version: bytes) -> bytes:
    """An unbatched golden entry that names another schema version; its checksum goes."""
    return entry[6:].replace(b"\x82\x01\x08" + VERSION, b"\x82\x01\x08" + version)


def as_java_shows(cell: Any) -> Any:
    return base64.b64encode(cell).decode() if isinstance(cell, bytes) else cell


@CASES
def test_pairs_are_what_java_reads(case: tuple[str, str]) -> None:
    java = GOLDEN[case]
    for entries in (java.single, java.batched):
        rows = rows_of(java.info, entries, ["*"])
        assert [{name: as_java_shows(cell) for name, cell in row.items()} for row in rows] == java.pairs


# The inline form is `i32 length, key, i32 length, value`; -1 is null.
INLINE = GOLDEN["int32_string", "INLINE"].info
SEPARATED = GOLDEN["int32_string", "SEPARATED"].info


def retyped(info: SchemaInfo, side: str, kind: SchemaType) -> SchemaInfo:
    schemas = split(info, topic="t")
    changed = replace(getattr(schemas, side), type=kind)
    return replace(join(replace(schemas, **{side: changed})), version=VERSION)


def test_a_side_that_is_not_selected_is_not_decoded() -> None:
    golden = GOLDEN["string_avro", "INLINE"]
    as_bytes = retyped(golden.info, "key", SchemaType.BYTES)
    broken = retyped(golden.info, "key", SchemaType.DOUBLE)
    wanted = [row["value"] for row in golden.pairs]
    for info in (golden.info, as_bytes, broken):
        assert [row["value"] for row in rows_of(info, golden.batched, ["value"])] == wanted
    with pytest.raises(DecodeError, match=r"key: expected 8 bytes"):
        rows_of(broken, golden.batched, ["*"])
    assert rows_of(broken, golden.batched, ["__partition"]) == [{"__partition": -1}] * len(wanted)


def test_each_version_determines_where_its_keys_are() -> None:
    """Pulsar lets a topic change from inline to separated: nothing checks it."""
    inline, separated = GOLDEN["int32_string", "INLINE"], GOLDEN["int32_string", "SEPARATED"]
    second = bytes(7) + b"\1"
    moved = [entry_of_version(data, second) for data in separated.single]
    versions = {VERSION: inline.info, second: separated.info}
    for reader in versions.values():
        rows = rows_of(reader, [*inline.single, *moved], ["*"], versions.__getitem__)
        assert rows == inline.pairs + separated.pairs


def test_the_key_column_keeps_the_bytes_of_a_separated_key() -> None:
    rows = rows_of(SEPARATED, GOLDEN["int32_string", "SEPARATED"].single[:3], ["key", "__key"])
    assert rows == [
        {"key": 7, "__key": b"\0\0\0\7"},
        {"key": -1, "__key": b"\xff\xff\xff\xff"},
        {"key": None, "__key": None},
    ]


def test_a_version_of_other_types_is_refused() -> None:
    older = retyped(INLINE, "value", SchemaType.INT64)
    with pytest.raises(
        SchemaError, match=r"schema version 0, .*value: written as int64, .* the reader's string"
    ):
        rows_of(INLINE, GOLDEN["int32_string", "INLINE"].single, ["*"], lambda _: older)
    plain = SchemaInfo("x", SchemaType.STRING, version=VERSION)
    with pytest.raises(SchemaError, match=r"schema version 0, .*: written as string, "):
        rows_of(INLINE, GOLDEN["int32_string", "INLINE"].single, ["*"], lambda _: plain)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "length of the key"),
        (b"\0\0\0", "length of the key"),
        (b"\0\0\0\4\0\0\0", "key of 4 bytes, got 3"),
        (b"\x80\0\0\0\0\0\0\0", "key of -2147483648 bytes"),
        (b"\0\0\0\4\0\0\0\1", "length of the value"),
        (b"\0\0\0\4\0\0\0\1\0\0\0\2x", "value of 2 bytes, got 1"),
        (b"\0\0\0\4\0\0\0\1\0\0\0\1xy", "the end after the pair's value, got 1 more bytes"),
        (b"\0\0\0\1\0\xff\xff\xff\xff", "key: expected 4 bytes"),
    ],
)
def test_an_invalid_pair_is_named(payload: bytes, why: str) -> None:
    good = b"\0\0\0\4\0\0\0\1\0\0\0\1x"
    with pytest.raises(DecodeError, match=rf"ledger 7, entry 1: .*{why}"):
        rows_of(INLINE, [unversioned(good), unversioned(payload)], ["*"])


def written(batch: pa.RecordBatch, info: SchemaInfo) -> SendFrames:
    schema = resolve_write_schema(batch.schema, info, topic=TOPIC)
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=0, producer_name="p", next_sequence_id=0, schema_version=VERSION)
    (sent,) = encoder.encode(batch, 1_700_000_000_123)
    return sent


def messages_in(entry: bytes) -> bytes:
    """The payload of an entry with a checksum, which holds the messages and their metadata."""
    start = 10 + int.from_bytes(entry[6:10], "big")
    return entry[start:]


@pytest.mark.parametrize("case", [case for case in GOLDEN if case[0] != "json_json"], ids="-".join)
def test_bytes_are_what_java_writes(case: tuple[str, str]) -> None:
    """Java's entries and the kernel's are equal, except for JSON and for an inline pair of two nulls.

    Jackson has its own order of fields in JSON. Java writes the two lengths of the pair; the kernel writes
    a null value.
    """
    java = GOLDEN[case]
    read = resolve_read_schema(java.info, topic=TOPIC, columns=["*"])
    decoder = EntryDecoder(read, topic=TOPIC, partition=-1, fetch_schema=lambda _: java.info)
    pushed = EntryBatch()
    pushed.push(7, 0, java.batched[0])
    (batch,) = (*decoder.decode(pushed), *decoder.finish())
    without_nulls = messages_in(raw_entry(written(batch.slice(0, 4), java.info)))
    theirs = messages_in(java.batched[0])
    assert theirs.startswith(without_nulls)
    with_nulls = messages_in(raw_entry(written(batch, java.info)))
    if case[1] == "SEPARATED":
        assert with_nulls == theirs
    assert [row["key"] for row in rows_of(java.info, [raw_entry(written(batch, java.info))], ["*"])] == [
        row["key"] for row in batch.to_pylist()
    ]


def raw_entry(sent: SendFrames) -> bytes:
    command = int.from_bytes(sent.frames[4:8], "big")
    assert len(sent.frames) == 4 + int.from_bytes(sent.frames[:4], "big")
    return sent.frames[8 + command :]


def test_a_value_that_cannot_be_written_names_side_and_row() -> None:
    document = b'{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}'
    record, text = SchemaInfo("", SchemaType.AVRO, document), SchemaInfo("", SchemaType.STRING)
    info = join(KeyValueSchemas(record, text, separated=True))
    ids = pa.array([{"id": 1}, None, {"id": None}], pa.struct([("id", pa.int64())]))
    batch = pa.record_batch([ids, pa.array(["a", "b", "c"])], names=["key", "value"])
    with pytest.raises(
        SchemaError, match=r"row 2 of the record batch: key: .*id: expected a value, got null"
    ):
        written(batch, info)
    assert written(batch.slice(0, 2), info).num_messages == 2


def test_defaults_of_a_side_are_written() -> None:
    document = (
        b'{"type":"record","name":"R","fields":[{"name":"id","type":"long"},'
        b'{"name":"level","type":"int","default":7}]}'
    )
    record, text = SchemaInfo("", SchemaType.AVRO, document), SchemaInfo("", SchemaType.STRING)
    info = replace(join(KeyValueSchemas(text, record, separated=False)), version=VERSION)
    values = pa.array([{"id": 1}, None], pa.struct([("id", pa.int64())]))
    batch = pa.record_batch([pa.array(["a", "b"]), values], names=["key", "value"])
    assert rows_of(info, [raw_entry(written(batch, info))], ["*"]) == [
        {"key": "a", "value": {"id": 1, "level": 7}},
        {"key": "b", "value": None},
    ]


def test_separated_keys_route_like_java_s() -> None:
    """The router uses the hash of the key's base64 text, which it gets from `MessageImpl.getKey`."""
    info = GOLDEN["int32_string", "SEPARATED"].info
    keys = [7, -1, 42, None]
    batch = pa.record_batch([pa.array(keys, pa.int32()), pa.array(["x"] * 4)], names=["key", "value"])
    schema = resolve_write_schema(batch.schema, info, topic=TOPIC)
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=5)
    for index in range(5):
        encoder.set_producer(
            index, producer_id=index, producer_name="p", next_sequence_id=0, schema_version=VERSION
        )
    found = {
        row["key"]: sent.partition
        for sent in encoder.encode(batch, 1_700_000_000_123)
        for row in rows_of(info, [raw_entry(sent)], ["key"])
    }
    for key in (7, -1, 42):
        assert found[key] == java_hash(base64.b64encode(key.to_bytes(4, "big", signed=True)).decode()) % 5
    assert found.keys() == set(keys)


def java_hash(text: str) -> int:
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFF_FFFF
    return value & 0x7FFF_FFFF
