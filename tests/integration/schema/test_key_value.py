"""KEY_VALUE topics, both ways, against the official Java client."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, Refused
from integration.sink.test_write import save
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

IDS = [{"id": 7, "region": "eu"}, {"id": -1, "region": None}]
ORDERS = [{"item": "tea", "amount": 2.5}, {"item": None, "amount": None}]
SIDES: dict[str, list[Any]] = {
    "INT32": [7, -1],
    "INT64": [2**62, -1],
    "STRING": ["Zürich", ""],
    "BYTES": ["AP8=", ""],
    "AVRO Id": IDS,
    "AVRO Order": ORDERS,
    "JSON Id": IDS,
    "JSON Order": ORDERS,
}
SPARK_TYPES = {
    "INT32": "int",
    "INT64": "bigint",
    "STRING": "string",
    "BYTES": "binary",
    "Id": "struct<id:bigint,region:string>",
    "Order": "struct<amount:double,item:string>",
}
PAIRS = [
    ("INT32", "STRING"),
    ("STRING", "AVRO Order"),
    ("AVRO Id", "AVRO Order"),
    ("AVRO Id", "INT64"),
    ("JSON Id", "JSON Order"),
    ("BYTES", "JSON Order"),
    ("BYTES", "BYTES"),
]
ENCODINGS = pytest.mark.parametrize("encoding", ["INLINE", "SEPARATED"])


@pytest.fixture(scope="session")
def java_pairs(pulsar: LocalPulsar) -> JavaClient:
    return JavaClient(pulsar, "KeyValueClient")


def messages(key: str, value: str) -> list[dict[str, Any]]:
    keys, values = SIDES[key], SIDES[value]
    return [
        {"key": keys[0], "value": values[0]},
        {"key": keys[1], "value": values[1]},
        {"key": None, "value": values[0]},
        {"key": keys[0], "value": None},
        {"key": None, "value": None},
    ]


def pairs_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"key": row["key"], "value": row["value"]} for row in rows]


def as_json(cell: Any) -> Any:
    return base64.b64encode(cell).decode() if isinstance(cell, bytes | bytearray) else cell


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """As the Java program shows them."""
    return [{name: as_json(each) for name, each in row.items()} for row in frame.toArrow().to_pylist()]


def spark_type(side: str) -> str:
    return SPARK_TYPES[side.rpartition(" ")[2]]


@ENCODINGS
def test_what_java_wrote_is_read(
    encoding: str, topic: str, java_pairs: JavaClient, read_topic: ReadTopic
) -> None:
    for key, value in PAIRS:
        name = f"{topic}-{key}-{value}".replace(" ", "-")
        job = {"topic": name, "key": key, "value": value, "encoding": encoding}
        sent = messages(key, value)
        _, theirs = java_pairs.run(
            {"do": "produce", "messages": [*sent, None], **job},
            {"do": "read", **job},
        )
        frame = read_topic(name)
        assert frame.columns[:2] == ["key", "value"]
        assert dict(frame.dtypes)["key"] == spark_type(key)
        assert rows_of(frame.select("key", "value")) == pairs_of(theirs), name
        assert pairs_of(theirs)[:5] == sent, name
        assert rows_of(frame.select("__key")) == [{"__key": row["keyBytes"]} for row in theirs]
        assert rows_of(frame.select("value")) == [{"value": row["value"]} for row in theirs]


@ENCODINGS
def test_what_we_wrote_to_a_java_topic_is_read_by_java(
    encoding: str,
    topic: str,
    java_pairs: JavaClient,
    read_topic: ReadTopic,
    spark: SparkSession,
    pulsar: LocalPulsar,
) -> None:
    """The topic has Java's schema: its own typed classes read our messages."""
    jobs = []
    for key, value in PAIRS:
        name = f"{topic}-{key}-{value}".replace(" ", "-")
        jobs.append({"topic": name, "key": key, "value": value, "encoding": encoding})
    java_pairs.run(*({"do": "produce", "messages": [], **job} for job in jobs))
    for job in jobs:
        schema = f"key {spark_type(job['key'])}, value {spark_type(job['value'])}"
        sent = messages(job["key"], job["value"])
        rows = [(from_json(row["key"], job["key"]), from_json(row["value"], job["value"])) for row in sent]
        save(spark.createDataFrame(rows, schema).coalesce(1), pulsar, job["topic"])
        assert rows_of(read_topic(job["topic"]).select("key", "value")) == sent
    for job, theirs in zip(jobs, java_pairs.run(*({"do": "read", **job} for job in jobs)), strict=True):
        assert pairs_of(theirs) == messages(job["key"], job["value"]), job


def from_json(cell: Any, side: str) -> Any:
    return base64.b64decode(cell) if cell is not None and side == "BYTES" else cell


@ENCODINGS
@pytest.mark.parametrize("value_format", ["avro", "json", "protobuf"])
def test_a_pair_that_we_registered(
    encoding: str,
    value_format: str,
    topic: str,
    admin: Admin,
    java_pairs: JavaClient,
    read_topic: ReadTopic,
    spark: SparkSession,
    pulsar: LocalPulsar,
) -> None:
    rows = [
        ({"id": 7, "region": "eu"}, {"item": "tea", "amount": 2.5}),
        ({"id": 8, "region": None}, None),
        (None, {"item": None, "amount": None}),
        (None, None),
    ]
    frame = spark.createDataFrame(rows, f"key {spark_type('Id')}, value {spark_type('Order')}").coalesce(1)
    options = {"keyValueEncoding": encoding.lower(), "valueFormat": value_format}
    save(frame, pulsar, topic, **options)
    save(frame, pulsar, topic, **options)
    registered = admin.schema(topic)
    assert registered is not None
    assert (registered["type"], registered["version"]) == ("KEY_VALUE", 0)
    assert registered["properties"]["kv.encoding.type"] == encoding
    kind = {"protobuf": "PROTOBUF_NATIVE"}.get(value_format, value_format.upper())
    assert registered["properties"]["key.schema.type"] == kind
    expected = [{"key": key, "value": value} for key, value in rows] * 2
    (theirs,) = java_pairs.run({"do": "read", "topic": topic, "key": "AUTO"})
    assert pairs_of(theirs) == expected
    assert rows_of(read_topic(topic).select("key", "value")) == expected


@ENCODINGS
def test_the_value_side_evolves(
    encoding: str, topic: str, java_pairs: JavaClient, read_topic: ReadTopic
) -> None:
    job = {"topic": topic, "key": "AVRO Id", "encoding": encoding}
    old = [{"key": IDS[0], "value": ORDERS[0]}, {"key": IDS[1], "value": None}]
    new = [{"key": IDS[0], "value": {"item": "jam", "amount": 1.0, "note": "sweet"}}]
    java_pairs.run(
        {"do": "produce", "value": "AVRO Order", "messages": old, **job},
        {"do": "produce", "value": "AVRO NotedOrder", "messages": new, **job},
        {"do": "produce", "value": "AVRO Order", "messages": old[:1], **job},
    )
    noted = {"key": IDS[0], "value": {**ORDERS[0], "note": None}}
    frame = read_topic(topic)
    assert rows_of(frame.select("key", "value")) == [noted, old[1], *new, noted]
    assert rows_of(frame.select("value.note")) == [{"note": each} for each in (None, None, "sweet", None)]


def test_separated_keys_go_where_java_sends_them(
    topic: str, admin: Admin, java_pairs: JavaClient, spark: SparkSession, pulsar: LocalPulsar
) -> None:
    admin.create_partitioned(topic, 5)
    job = {"topic": topic, "key": "INT32", "value": "STRING", "encoding": "SEPARATED"}
    java_pairs.run({"do": "produce", "messages": [{"key": key, "value": "java"} for key in range(40)], **job})
    save(spark.createDataFrame([(key, "ours") for key in range(40)], "key int, value string"), pulsar, topic)
    (theirs,) = java_pairs.run({"do": "read", **job})
    by_writer = {
        writer: {row["key"]: row["topic"] for row in theirs if row["value"] == writer}
        for writer in ("java", "ours")
    }
    assert by_writer["java"] == by_writer["ours"]
    assert len(set(by_writer["ours"].values())) == 5


def test_what_does_not_fit_is_refused_before_any_task(
    topic: str, java_pairs: JavaClient, spark: SparkSession, pulsar: LocalPulsar, refused: Refused
) -> None:
    java_pairs.run(
        {
            "do": "produce",
            "topic": topic,
            "key": "AVRO Id",
            "value": "STRING",
            "encoding": "SEPARATED",
            "messages": [],
        }
    )
    frame = spark.createDataFrame(
        [((1, "x", 2), "v", b"k")], "key struct<id:bigint,region:string,more:int>, value string, __key binary"
    )
    text = refused(lambda: save(frame, pulsar, topic), "SchemaError")
    assert "key.more is not in the topic's schema" in text
    assert "column __key" in text
    frame = spark.createDataFrame([((1, "x"), "v")], "key struct<id:bigint,region:string>, value string")
    text = refused(lambda: save(frame, pulsar, topic, keyValueEncoding="inline"), "SchemaError")
    assert "expected a KEY_VALUE schema with inline keys" in text


def test_the_registry_tells_pairs_apart_by_their_data_only(
    topic: str, admin: Admin, java_pairs: JavaClient
) -> None:
    """What docs/schema-mapping.md warns of. Here all three have no data."""
    job = {"do": "produce", "topic": topic, "messages": []}
    java_pairs.run(
        {"key": "INT32", "value": "STRING", "encoding": "INLINE", **job},
        {"key": "INT32", "value": "STRING", "encoding": "SEPARATED", **job},
        {"key": "STRING", "value": "INT32", "encoding": "INLINE", **job},
    )
    registered = admin.schema(topic)
    assert registered is not None
    assert registered["version"] == 0
    assert registered["properties"]["kv.encoding.type"] == "INLINE"
    assert registered["properties"]["key.schema.type"] == "INT32"
