"""The sink: what the official clients read from what Spark wrote, cell by cell."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, as_base64, messages_of
from integration.test_columns import PRIMITIVES, float32
from pulsar.schema import (
    Array,
    AvroSchema,
    Boolean,
    Double,
    Float,
    Integer,
    JsonSchema,
    Long,
    Map,
    Record,
    String,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from pyspark_pulsar.standalone import LocalPulsar

ROWS = 2_000


def save(frame: DataFrame, server: LocalPulsar, topic: str, **options: str) -> None:
    writer = frame.write.format("pulsar").option("service.url", server.service_url).option("topic", topic)
    writer.options(**options).mode("append").save()


def document_of(admin: Admin, topic: str, kind: str) -> dict[str, Any]:
    """The Avro document that the registry holds for the topic, whose type must be `kind`."""
    schema = admin.schema(topic)
    assert schema is not None
    assert schema["type"] == kind
    return dict(json.loads(schema["data"]))


TYPED = (
    "flag boolean, tiny tinyint, small smallint, number int, large bigint, single float, double double, text string, "
    "raw binary, day date, at timestamp, local timestamp_ntz, price decimal(38,10), numbers array<bigint>, "
    "inner struct<x:int,deep:struct<y:string>>, inners array<struct<z:double>>, by_name map<string,bigint>"
)
TYPED_ROWS: list[tuple[Any, ...]] = [
    (
        True, -128, -(2**15), 2**31 - 1, -(2**63), 0.5, math.pi, "東京", b"\x00\xff", dt.date(1960, 2, 29),
        dt.datetime(2026, 11, 21, 3, 1, 43, 82_123, dt.UTC), dt.datetime(1969, 1, 1, 0, 0, 0, 1),  # noqa: DTZ001
        Decimal("-1234567890123456789012345678.0123456789"), [1, None, 2**62], (5, ("deep",)), [(1.5,), None],
        {"a": 1, "ü": None},
    ),
    (None,) * 17,
    (
        False, 127, 2**15 - 1, -(2**31), 2**63 - 1, -0.0, 5e-324, "", b"", dt.date(9999, 12, 31),
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001
        Decimal("0.0000000001"), [], (None, (None,)), [], {},
    ),
]  # fmt: skip


def expected_cells(frame: DataFrame) -> list[dict[str, Any]]:
    return frame.toArrow().to_pylist(maps_as_pydicts="strict")


def test_avro_is_registered_and_read_by_the_official_decoder(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    read_topic: ReadTopic,
) -> None:
    frame = spark.createDataFrame(TYPED_ROWS, TYPED).coalesce(1)
    save(frame, pulsar, topic)
    document = document_of(admin, topic, "AVRO")
    assert [field["name"] for field in document["fields"]] == frame.columns
    assert all(field["type"][0] == "null" for field in document["fields"])
    schema = AvroSchema(None, schema_definition=document)
    found = [message.value() for message in messages_of(official, topic, schema)]
    assert found == expected_cells(frame)
    ours = read_topic(topic).select(frame.columns)
    widened = {"tiny": "int", "small": "int"}
    assert dict(ours.dtypes) == dict(frame.dtypes) | widened
    assert expected_cells(ours) == found


# The official classes know no null inside an array or a map.
JSON_COLUMNS = (
    StructType()
    .add("flag", BooleanType())
    .add("number", IntegerType())
    .add("large", LongType())
    .add("single", FloatType())
    .add("double", DoubleType())
    .add("text", StringType())
    .add("numbers", ArrayType(LongType(), containsNull=False))
    .add("inner", StructType().add("x", IntegerType()).add("y", StringType()))
    .add("by_name", MapType(StringType(), LongType(), valueContainsNull=False))
)


def test_json_is_registered_and_read_by_the_official_decoder(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    read_topic: ReadTopic,
) -> None:
    rows = [
        (True, -(2**31), 2**63 - 1, 0.5, math.pi, 'q"\\\n東京', [1, 2**62], (5, "deep"), {"a": 1, "ü": -2}),
        (None,) * 9,
        (False, 0, -(2**63), -0.0, 5e-324, "", [], (None, None), {}),
    ]
    frame = spark.createDataFrame(rows, JSON_COLUMNS).coalesce(1)
    save(frame, pulsar, topic, valueFormat="json")
    document = document_of(admin, topic, "JSON")
    inner = next(field["type"][1] for field in document["fields"] if field["name"] == "inner")
    # The broker compares record names, so the official classes bear those that were registered.
    inner_class = type(inner["name"], (Record,), {"x": Integer(), "y": String()})
    fields = {
        "flag": Boolean(), "number": Integer(), "large": Long(), "single": Float(), "double": Double(),
        "text": String(), "numbers": Array(Long()), "inner": inner_class(), "by_name": Map(Long()),
    }  # fmt: skip
    schema = JsonSchema(type(document["name"], (Record,), fields))
    found = [message.value() for message in messages_of(official, topic, schema)]
    # The official client turns a Boolean that is null into its default.
    expected = [row | {"flag": bool(row["flag"])} for row in expected_cells(frame)]
    assert [_plain(each, JSON_COLUMNS.names) for each in found] == expected
    assert expected_cells(read_topic(topic).select(frame.columns)) == expected_cells(frame)


def _plain(value: Any, fields: Iterable[str]) -> dict[str, Any]:
    row = {name: getattr(value, name) for name in fields}
    inner = row["inner"]
    return row | {"inner": inner and {"x": inner.x, "y": inner.y}}


EXISTING = {
    "type": "record", "name": "Existing", "namespace": "of.others",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["string", "null"], "default": "nobody"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "extra", "type": ["null", "int"], "default": None},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_an_existing_record_schema_is_kept_and_used(
    kind: str,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create(topic)
    admin.register(topic, kind, json.dumps(EXISTING))
    before = admin.schema(topic)
    at = dt.datetime(2026, 11, 21, 3, 1, 43, 82_000, dt.UTC)
    rows = [("A", 1, at, "x"), ("B", 2, at, None)]
    # Other order and a narrower integer than the schema's; `extra` is left out.
    save(
        spark.createDataFrame(rows, "kind string, id int, at timestamp, name string").coalesce(1),
        pulsar,
        topic,
    )
    assert admin.schema(topic) == before
    expected = [{"id": row[1], "name": row[3], "at": at, "kind": row[0], "extra": None} for row in rows]
    if kind == "AVRO":
        schema = AvroSchema(None, schema_definition=EXISTING)
        assert [message.value() for message in messages_of(official, topic, schema)] == expected
        return
    millis = round(at.timestamp() * 1000)
    assert [json.loads(message.data()) for message in messages_of(official, topic)] == [
        each | {"at": millis} for each in expected
    ]


def test_a_default_is_written_for_a_column_that_is_missing(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, admin: Admin
) -> None:
    admin.create(topic)
    admin.register(topic, "AVRO", json.dumps(EXISTING))
    frame = spark.createDataFrame(
        [("A", 1, dt.datetime(2026, 1, 1, tzinfo=dt.UTC))], "kind string, id int, at timestamp"
    )
    save(frame, pulsar, topic)
    (message,) = messages_of(official, topic, AvroSchema(None, schema_definition=EXISTING))
    assert message.value()["name"] == "nobody"


@pytest.mark.parametrize("registered", [False, True], ids=["new-topic", "topic-with-schema"])
def test_primitives_are_read_by_the_java_client(
    registered: bool,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    java_client: JavaClient,
) -> None:
    for kind, (spark_type, values) in PRIMITIVES.items():
        if registered:
            admin.create(f"{topic}-{kind}")
            admin.register(f"{topic}-{kind}", kind)
        frame = spark.createDataFrame([(each,) for each in [*values, None]], f"value {spark_type}").coalesce(
            1
        )
        save(frame, pulsar, f"{topic}-{kind}")
        schema = admin.schema(f"{topic}-{kind}")
        assert schema is not None
        assert (schema["type"], schema["version"]) == (kind, 0)
    jobs = [{"do": "read", "topic": f"{topic}-{kind}", "schema": kind} for kind in PRIMITIVES]
    for (kind, (_, values)), rows in zip(PRIMITIVES.items(), java_client.run(*jobs), strict=True):
        assert [_parsed(row["value"], kind) for row in rows] == [*values, None], kind


def _parsed(text: str | None, kind: str) -> Any:
    if text is None or kind == "STRING":
        return text
    if kind == "BOOLEAN":
        return text == "true"
    if kind in ("FLOAT", "DOUBLE"):
        number = float(text.replace("Infinity", "inf"))
        return number if kind == "DOUBLE" else float32(number)
    return int(text)


def test_bytes_need_no_schema(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, admin: Admin
) -> None:
    values = [b"", b"\x00\xff", b"x" * 100_000, None]
    save(spark.createDataFrame([(each,) for each in values], "value binary").coalesce(1), pulsar, topic)
    assert admin.schema(topic) is None
    messages = list(messages_of(official, topic))
    assert [None if each.has_null_value() else each.data() for each in messages] == values


@pytest.mark.parametrize("codec", ["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"])
def test_metadata_and_order_of_a_partitioned_topic(
    codec: str, topic: str, rng: random.Random, spark: SparkSession, pulsar: LocalPulsar,
    official: official_client.Client, admin: Admin,
) -> None:  # fmt: skip
    admin.create_partitioned(topic, 4)
    rows = []
    for number in range(ROWS):
        key = None if rng.random() < 0.2 else f"{rng.choice(['k', 'ü', '東'])}{rng.randrange(30)}"
        event = None if rng.random() < 0.3 else rng.randrange(1, 2_000_000_000_000)
        properties = (
            {} if rng.random() < 0.5 else {"n": str(number), "wörter": rng.choice(["", "東京", "a,b=c"])}
        )
        rows.append((str(number).encode(), key, event, properties))
    raw = spark.createDataFrame(
        rows, "value binary, __key string, millis bigint, __messageProperties map<string,string>"
    )
    frame = raw.selectExpr("value", "__key", "timestamp_millis(millis) as __eventTime", "__messageProperties")
    save(
        frame.coalesce(1), pulsar, topic,
        **{"pulsar.producer.compressionType": codec, "pulsar.producer.batchingMaxMessages": "50"},
    )  # fmt: skip
    order: dict[str, list[int]] = defaultdict(list)
    found = {}
    for message in messages_of(official, topic):
        number = int(message.data())
        order[message.topic_name()].append(number)
        found[number] = (
            message.data(), message.partition_key() or None, message.event_timestamp() or None, message.properties()
        )  # fmt: skip
    assert [found[number] for number in range(ROWS)] == rows
    assert sum(len(each) for each in order.values()) == ROWS
    assert len(order) == 4
    # One task wrote all rows, so the order of each partition, and with it of each key, is that of the rows.
    assert all(numbers == sorted(numbers) for numbers in order.values())


def test_keys_land_where_the_java_client_puts_them(
    topic: str,
    rng: random.Random,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    java_client: JavaClient,
) -> None:
    starts = ("k", "ü", "\U0001f980", "")
    keys = {f"{rng.choice(starts)}{number}".encode() for number in range(300)}
    byte_keys = {rng.randbytes(6) + b"\xff" for _ in range(100)}
    for name in (f"{topic}-java", f"{topic}-spark"):
        admin.create_partitioned(name, 5)
    messages = [{"value": "eA==", "key": key.decode()} for key in keys]
    messages += [{"value": "eA==", "keyBytes": as_base64(key)} for key in byte_keys]
    frame = spark.createDataFrame([(b"", key) for key in [*keys, *byte_keys]], "value binary, __key binary")
    save(frame.repartition(3), pulsar, f"{topic}-spark")
    _, theirs, ours = java_client.run(
        {"do": "produce", "topic": f"{topic}-java", "schema": "BYTES", "messages": messages},
        {"do": "read", "topic": f"{topic}-java", "schema": "BYTES"},
        {"do": "read", "topic": f"{topic}-spark", "schema": "BYTES"},
    )
    placed = {base64.b64decode(row["keyBytes"]): row["partition"] for row in theirs}
    assert placed.keys() == keys | byte_keys
    assert len(ours) == len(placed)
    assert {base64.b64decode(row["keyBytes"]): row["partition"] for row in ours} == placed


def test_rows_without_a_key_spread_over_the_partitions(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:
    admin.create_partitioned(topic, 3)
    save(
        spark.range(5_000).selectExpr("id as value").coalesce(1),
        pulsar,
        topic,
        **{"pulsar.producer.batchingMaxMessages": "100"},
    )
    counts: dict[str, int] = defaultdict(int)
    for message in messages_of(official, topic):
        counts[message.topic_name()] += 1
    assert sum(counts.values()) == 5_000
    assert len(counts) == 3
    assert max(counts.values()) - min(counts.values()) <= 200


def test_a_topic_written_back_to_another_is_the_same(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, read_topic: ReadTopic
) -> None:
    frame = spark.range(1_000).selectExpr(
        "id", "concat('n', id) as name", "cast(concat('k', id % 10) as binary) as __key",
        "timestamp_millis(1700000000000 + id) as __eventTime", "map('a', cast(id as string)) as __messageProperties",
    )  # fmt: skip
    save(frame.coalesce(1), pulsar, topic)
    save(read_topic(topic).coalesce(1), pulsar, f"{topic}-copy")
    columns = ["id", "name", "__key", "__eventTime", "__messageProperties"]
    first, second = (read_topic(name).select(columns).toArrow() for name in (topic, f"{topic}-copy"))
    assert first.equals(second)
    assert first.num_rows == 1_000
