"""Messages and versions that no honest client writes, and messages outside the range of a read."""

import json
import time
from typing import Any

import pytest
from unit.codec.raw_payloads import TOPIC, avro_bytes, decoded, entries, record
from unit.codec.stored_entries import stored
from unit.schema.test_hostile_documents import unfolding

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import CorruptEntryError, DecodeError, SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema

WORDS = record(("x", ["null", "string"]))
OLD, NEW = b"\0" * 8, b"\0" * 7 + b"\1"


def info(document: dict[str, Any], kind: str = "AVRO") -> SchemaInfo:
    return SchemaInfo("R", SchemaType[kind], json.dumps(document).encode())


@pytest.mark.parametrize("opened", ['{"y":', '{"x":'])
def test_json_of_any_depth_is_a_bad_row(opened: str) -> None:
    deep = (opened + "[" * 2_000_000 + "]" * 2_000_000 + "}").encode()
    with pytest.raises(DecodeError, match=r"at most 1000 nested arrays and objects|expected a text"):
        decoded("JSON", WORDS, entries(deep))


@pytest.mark.parametrize("depth", [1, 1000])
def test_json_of_less_depth_is_read_or_named(depth: int) -> None:
    lists = "[" * depth + "]" * depth
    text = "[" * 10_000  # brackets in a text open nothing
    shallow = f'{{"y":{lists},"z":"\\"{text}","x":"q"}}'.encode()
    assert decoded("JSON", WORDS, entries(shallow)) == [{"x": "q"}]
    with pytest.raises(DecodeError, match="expected a text, got") as caught:
        decoded("JSON", WORDS, entries(f'{{"x":{lists}}}'.encode()))
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("document", [unfolding(60, 2), unfolding(5000, 1)], ids=["wide", "deep"])
def test_a_version_that_unfolds_without_end(document: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=r"field|expected at most \d+ (nested types|types, counted again)"):
        decoded("AVRO", record(("f0", ["null", "int"])), entries(b""), document)


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_types_nested_as_deep_as_columns_can_be(kind: str) -> None:
    """The document has three values of JSON for each of its types, which a parser of 128 at most refuses."""
    node: Any = "int"
    value: Any = 7
    for number in range(59):
        node = record(("x", node), name=f"R{number}")
        value = {"x": value}
    payload = avro_bytes(node, value) if kind == "AVRO" else json.dumps(value).encode()
    assert decoded(kind, node, entries(payload)) == [value]
    with pytest.raises(SchemaError, match="expected at most 60 types inside each other"):
        resolve_read_schema(info(record(("y", record(("x", node), name="S"))), kind), topic=TOPIC)


def test_a_type_in_many_objects_around_it() -> None:
    kind: Any = "int"
    for _ in range(200):
        kind = {"type": kind}
    payload = avro_bytes(record(("x", "int")), {"x": 7})
    assert decoded("AVRO", record(("x", kind)), entries(payload)) == [{"x": 7}]


def test_a_document_nested_deeper_than_any_is_refused() -> None:
    deep = SchemaInfo("R", SchemaType.AVRO, b'{"type":' * 2_000_000)
    schema = resolve_read_schema(info(WORDS), topic=TOPIC, columns=["*"])
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: deep)
    with pytest.raises(SchemaError, match="expected at most 1024 nested JSON values, got more"):
        list(decoder.decode(entries(b"")))


def test_a_batch_of_bad_rows_takes_no_time_for_versions_it_does_not_have() -> None:
    """Looking up versions is linear: once, each row searched all rows after it for every version."""
    schema = resolve_read_schema(info(WORDS), topic=TOPIC, columns=["*"])
    decoder = EntryDecoder(
        schema,
        topic=TOPIC,
        partition=-1,
        fetch_schema=lambda _: info(WORDS),
        mode="PERMISSIVE",
        batch_rows=40_000,
    )
    for version in range(50):
        assert list(decoder.decode(entries(None, version=version.to_bytes(8, "big")))) == []
    started = time.monotonic()
    batches = [*decoder.decode(stored([b"\x09"] * 40_000)), *decoder.finish()]
    assert sum(batch.num_rows for batch in batches) == 40_050
    assert time.monotonic() - started < 20


def read_until(end: tuple[int, int, int], found: EntryBatch) -> list[dict[str, Any]]:
    """A message of the old version, to which the new version does not resolve."""
    schema = resolve_read_schema(info(WORDS), topic=TOPIC, columns=["*"])
    versions = {OLD: info(WORDS), NEW: info(record(("x", "boolean")))}
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=versions.get, end=end)
    return [row for batch in [*decoder.decode(found), *decoder.finish()] for row in batch.to_pylist()]


def test_versions_past_the_range_do_not_matter() -> None:
    """The broker sends entries ahead, so entries past the end of the range must not fail the read."""
    payload = avro_bytes(WORDS, {"x": "a"})

    def found() -> EntryBatch:
        batch = EntryBatch()
        for number, version in enumerate((OLD, OLD, NEW)):
            batch.push(7, number, open_stored_bytes(payload, version))
        return batch

    assert read_until((7, 2, 0), found()) == [{"x": "a"}, {"x": "a"}]
    with pytest.raises(SchemaError, match="expected schema version 1"):
        read_until((7, 3, 0), found())


def test_damage_past_the_range_does_not_matter() -> None:
    payload = avro_bytes(WORDS, {"x": "a"})

    def found() -> EntryBatch:
        batch = EntryBatch()
        batch.push(7, 0, open_stored_bytes(payload, OLD))
        batch.push(7, 1, b"\x0e\x01\0\0\0\0" + open_stored_bytes(payload, OLD))
        return batch

    assert read_until((7, 1, 0), found()) == [{"x": "a"}]
    with pytest.raises(CorruptEntryError, match="ledger 7, entry 1"):
        read_until((7, 2, 0), found())


def open_stored_bytes(payload: bytes, version: bytes) -> bytes:
    metadata = b"\x0a\x01p\x10\x00\x18\x01\x82\x01\x08" + version
    return len(metadata).to_bytes(4, "big") + metadata + payload


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_times_before_1970_are_cut_towards_the_past(kind: str) -> None:
    nanos = record(("x", {"type": "long", "logicalType": "timestamp-nanos"}))
    values = [-1, -1000, -1001, 1, 999, 1000]
    payloads = [
        avro_bytes(record(("x", "long")), {"x": value})
        if kind == "AVRO"
        else json.dumps({"x": value}).encode()
        for value in values
    ]
    rows = decoded(kind, nanos, entries(*payloads))
    assert [row["x"].microsecond for row in rows] == [999_999, 999_999, 999_998, 0, 0, 1]
    assert [row["x"].year for row in rows] == [1969, 1969, 1969, 1970, 1970, 1970]


def test_versions_in_a_finer_unit_are_cut_towards_the_past() -> None:
    micros = record(("x", {"type": "long", "logicalType": "timestamp-micros"}))
    millis = record(("x", {"type": "long", "logicalType": "timestamp-millis"}))
    payloads = [avro_bytes(record(("x", "long")), {"x": value}) for value in (-1, -1000, 1999)]
    rows = decoded("AVRO", millis, entries(*payloads), micros)
    assert [row["x"].microsecond for row in rows] == [999_000, 999_000, 1000]
