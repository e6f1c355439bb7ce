import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from unit.codec.sent_entries import entries_of

from pyspark_pulsar._kernel import SendFrames
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import SchemaError, SendError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import with_times_as_numbers
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import WriteSchema, resolve_write_schema

TOPIC = "persistent://public/default/orders"
NOW_MS = 1_795_230_103_082
DOCUMENT = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "at", "type": [{"type": "long", "logicalType": "timestamp-millis"}, "null"]},
            {
                "name": "status",
                "type": {"type": "enum", "name": "S", "symbols": ["NEW", "OLD"]},
                "default": "OLD",
            },
        ],
    }
)


def encoder(schema: WriteSchema, *, partitions: int = 1, **encoding: int) -> BatchEncoder:
    found = BatchEncoder(schema, topic=TOPIC, partitions=partitions, **encoding)  # type: ignore[arg-type]
    for partition in range(partitions):
        found.set_producer(
            partition, producer_id=partition, producer_name="p", next_sequence_id=0, schema_version=None
        )
    return found


def payloads(sent: list[SendFrames]) -> list[bytes]:
    over = EntryDecoder(
        resolve_read_schema(None, topic=TOPIC, columns=["value"]),
        topic=TOPIC,
        partition=-1,
        fetch_schema=lambda _: None,
    )
    return [
        row["value"]
        for batch in [*over.decode(entries_of(sent)), *over.finish()]
        for row in batch.to_pylist()
    ]


def topic_schema(schema_type: SchemaType) -> SchemaInfo:
    return SchemaInfo("orders", schema_type, DOCUMENT.encode())


ORDERS = pa.record_batch(
    {
        "__messageSize": pa.array([1, 2], pa.int32()),
        "at": pa.array([1_500_999, None], pa.timestamp("us", tz="America/New_York")),
        "id": pa.array([1, 2], pa.int32()),
    }
)


def test_avro_follows_the_document_and_writes_defaults() -> None:
    schema = resolve_write_schema(ORDERS.schema, topic_schema(SchemaType.AVRO), topic=TOPIC)
    parsed = fastavro.parse_schema(json.loads(DOCUMENT))
    found: list[Any] = [
        fastavro.schemaless_reader(io.BytesIO(data), parsed, None)
        for data in payloads(encoder(schema).encode(ORDERS, NOW_MS))
    ]
    assert [(row["id"], row["status"]) for row in found] == [(1, "OLD"), (2, "OLD")]
    assert found[0]["at"].timestamp() == 1.5
    assert found[1]["at"] is None


@pytest.mark.parametrize("numbers", [False, True])
def test_json_has_the_documents_fields_and_units(numbers: bool) -> None:
    schema = resolve_write_schema(ORDERS.schema, topic_schema(SchemaType.JSON), topic=TOPIC)
    if numbers:
        schema = replace(schema, value=with_times_as_numbers(schema.value, where=TOPIC))
    assert [json.loads(data) for data in payloads(encoder(schema).encode(ORDERS, NOW_MS))] == [
        {"id": 1, "at": 1500 if numbers else "1970-01-01T00:00:01.500999Z", "status": "OLD"},
        {"id": 2, "at": None, "status": "OLD"},
    ]


def test_primitive_is_widened_to_the_topics_type() -> None:
    batch = pa.record_batch({"value": pa.array([258, -1], pa.int16())})
    schema = resolve_write_schema(batch.schema, SchemaInfo("x", SchemaType.INT32), topic=TOPIC)
    assert payloads(encoder(schema).encode(batch, NOW_MS)) == [b"\0\0\1\2", b"\xff\xff\xff\xff"]


def test_rows_with_one_key_stay_together_and_in_order() -> None:
    keys = [f"k{number % 7}" for number in range(200)]
    batch = pa.record_batch({"__key": pa.array(keys), "value": pa.array(range(200), pa.int64())})
    sent = encoder(resolve_write_schema(batch.schema, None, topic=TOPIC), partitions=3).encode(batch, NOW_MS)
    assert sum(frames.num_messages for frames in sent) == 200
    by_partition: dict[int, list[int]] = {}
    for frames in sent:
        by_partition.setdefault(frames.partition, []).extend(
            int.from_bytes(data, "big") for data in payloads([frames])
        )
    # Java's String.hashCode of "k0" to "k6" is 107 * 31 + 48 to 54.
    expected = {(107 * 31 + 48 + number) % 3 for number in range(7)}
    assert set(by_partition) == expected
    for partition, numbers in by_partition.items():
        assert numbers == [n for n in range(200) if (107 * 31 + 48 + n % 7) % 3 == partition]


def test_empty_batch_sends_nothing() -> None:
    batch = pa.record_batch({"value": pa.array([], pa.string())})
    assert encoder(resolve_write_schema(batch.schema, None, topic=TOPIC)).encode(batch, NOW_MS) == []


def test_null_in_a_required_field_names_the_row() -> None:
    batch = pa.record_batch({"id": pa.array([1, None], pa.int64())})
    schema = resolve_write_schema(batch.schema, topic_schema(SchemaType.AVRO), topic=TOPIC)
    with pytest.raises(SchemaError, match=r"topic persistent://public/default/orders, row 1 .*id"):
        encoder(schema).encode(batch, NOW_MS)


def test_a_string_that_is_no_symbol_names_the_row() -> None:
    batch = pa.record_batch({"id": pa.array([1], pa.int64()), "status": pa.array(["LOST"])})
    schema = resolve_write_schema(batch.schema, topic_schema(SchemaType.AVRO), topic=TOPIC)
    with pytest.raises(SchemaError, match=r"row 0 "):
        encoder(schema).encode(batch, NOW_MS)


def test_message_above_the_brokers_limit() -> None:
    batch = pa.record_batch({"value": pa.array([b"x", b"y" * 5000], pa.binary())})
    schema = resolve_write_schema(batch.schema, None, topic=TOPIC)
    with pytest.raises(SendError, match=r"row 1 .*maxMessageSize"):
        encoder(schema, max_message_bytes=1000).encode(batch, NOW_MS)


def test_batch_without_a_planned_column() -> None:
    schema = resolve_write_schema(pa.schema([("value", pa.string())]), None, topic=TOPIC)
    with pytest.raises(SchemaError, match="expected column value"):
        encoder(schema).encode(pa.record_batch({"other": pa.array(["x"])}), NOW_MS)
