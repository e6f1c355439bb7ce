"""Schemas of dates and times: bytes as Pulsar 4.0.8's Java client writes them (printed by its `encode`)."""

import datetime as dt

import pyarrow as pa
import pytest
from unit.codec.sent_entries import entries_of

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import DecodeError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.primitive import PRIMITIVES
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.types.spark import spark_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/t"
UTC = dt.UTC

# Schema, the Java client's bytes, the value in Spark, and the bytes that we write for that value.
JAVA = [
    ("DATE", "ffffffffffffffff", dt.date(1969, 12, 31), "fffffffffad9a400"),
    ("DATE", "0000018bcfe5687b", dt.date(2023, 11, 14), "0000018bcb20b400"),
    ("TIME", "ffffffffffffffff", dt.time(23, 59, 59, 999000), "0000000005265bff"),
    ("TIME", "0000000005265bff", dt.time(23, 59, 59, 999000), "0000000005265bff"),
    ("TIMESTAMP", "ffffffffffffffff", dt.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), None),
    ("TIMESTAMP", "0000018bcfe5687b", dt.datetime(2023, 11, 14, 22, 13, 20, 123000, UTC), None),
    (
        "INSTANT",
        "ffffffffffffffff3b9ac9ff",
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        "ffffffffffffffff3b9ac618",
    ),
    (
        "INSTANT",
        "000000006553f100075bcd15",
        dt.datetime(2023, 11, 14, 22, 13, 20, 123456, UTC),
        "000000006553f100075bca00",
    ),
    ("LOCAL_DATE", "0000000000004cdb", dt.date(2023, 11, 14), None),
    ("LOCAL_TIME", "00004e94914effff", dt.time(23, 59, 59, 999999), "00004e94914efc18"),
    (
        "LOCAL_DATE_TIME",
        "ffffffffffffffff00004e945d100315",
        dt.datetime.fromisoformat("1969-12-31T23:59:59.123456"),
        "ffffffffffffffff00004e945d100000",
    ),
    (
        "LOCAL_DATE_TIME",
        "0000000000004cdb00000362d417bda0",
        dt.datetime.fromisoformat("2023-11-14T01:02:03.000004"),
        None,
    ),
]


def entries(*payloads: bytes) -> EntryBatch:
    """The payloads as the messages of a topic of bytes."""
    batch = pa.record_batch([pa.array(payloads, pa.binary())], names=["value"])
    encoder = BatchEncoder(resolve_write_schema(batch.schema, None, topic=TOPIC), topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=None)
    return entries_of(encoder.encode(batch, 1))


def read(schema_type: str, found: EntryBatch) -> list[object]:
    schema = resolve_read_schema(SchemaInfo("x", SchemaType[schema_type]), topic=TOPIC, columns=["value"])
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: None)
    batches = [*decoder.decode(found), *decoder.finish()]
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def written(schema_type: str, value: object) -> list[object]:
    info = SchemaInfo("x", SchemaType[schema_type])
    batch = pa.record_batch([pa.array([value], PRIMITIVES[info.type].arrow_type)], names=["value"])
    encoder = BatchEncoder(resolve_write_schema(batch.schema, info, topic=TOPIC), topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=None)
    return read("BYTES", entries_of(encoder.encode(batch, 1)))


@pytest.mark.parametrize(("schema_type", "payload", "value", "back"), JAVA)
def test_bytes_of_the_java_client(schema_type: str, payload: str, value: object, back: str | None) -> None:
    assert read(schema_type, entries(bytes.fromhex(payload))) == [value]
    assert written(schema_type, value) == [bytes.fromhex(back or payload)]
    assert written(schema_type, None) == [None]


@pytest.mark.parametrize(
    ("schema_type", "size"),
    [("DATE", 8), ("TIME", 8), ("TIMESTAMP", 8), ("INSTANT", 12), ("LOCAL_DATE", 8), ("LOCAL_TIME", 8),
     ("LOCAL_DATE_TIME", 16)],
)  # fmt: skip
def test_payload_of_another_length(schema_type: str, size: int) -> None:
    for wrong in {0, 4, size - 1, size + 1, 16} - {size}:
        with pytest.raises(DecodeError, match=f"entry 0.*expected {size} bytes.*got {wrong}"):
            read(schema_type, entries(b"\0" * wrong))


@pytest.mark.parametrize(
    ("schema_type", "payload", "said"),
    [
        ("DATE", "7fffffffffffffff", "a date in Spark's range"),
        ("TIMESTAMP", "8000000000000000", "a timestamp in Spark's range"),
        ("INSTANT", "00701cd2fa9578ff3b9ac9ff", "31556889864403199 s"),  # Instant.MAX
        ("LOCAL_DATE", "ffffffaaf5cec326", "-365243219162 days"),  # LocalDate.MIN
        ("LOCAL_TIME", "00004e94914f0000", "86400000000000 ns"),
        ("LOCAL_TIME", "ffffffffffffffff", "-1 ns"),
        ("LOCAL_DATE_TIME", "7fffffffffffffff0000000000000000", "a timestamp_ntz in Spark's range"),
        ("LOCAL_DATE_TIME", "0000000000000000ffffffffffffffff", "-1 ns"),
    ],
)
def test_value_beyond_spark_names_the_message(schema_type: str, payload: str, said: str) -> None:
    with pytest.raises(DecodeError, match="batch index 1") as caught:
        read(schema_type, entries(b"\0" * (len(payload) // 2), bytes.fromhex(payload)))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("schema_type", "spark"),
    [
        ("DATE", "date"),
        ("TIME", "time(6)"),
        ("TIMESTAMP", "timestamp"),
        ("INSTANT", "timestamp"),
        ("LOCAL_DATE", "date"),
        ("LOCAL_TIME", "time(6)"),
        ("LOCAL_DATE_TIME", "timestamp_ntz"),
    ],
)
def test_spark_type(schema_type: str, spark: str) -> None:
    schema = resolve_read_schema(SchemaInfo("x", SchemaType[schema_type]), topic="t", columns=["value"])
    assert spark_schema(schema.output_schema).simpleString() == f"struct<value:{spark}>"


@pytest.mark.parametrize(
    ("kind", "schema_type", "name"),
    [
        (pa.date32(), "LOCAL_DATE", "LocalDate"),
        (pa.time64("ns"), "LOCAL_TIME", "LocalTime"),
        (pa.timestamp("us", tz="UTC"), "INSTANT", "Instant"),
        (pa.timestamp("us"), "LOCAL_DATE_TIME", "LocalDateTime"),
    ],
)
def test_value_column_registers(kind: pa.DataType, schema_type: str, name: str) -> None:
    found = resolve_write_schema(pa.schema([("value", kind)]), None, topic="t")
    assert (found.info, found.registers) == (SchemaInfo(name, SchemaType[schema_type]), True)
