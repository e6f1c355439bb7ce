"""Several versions of a schema in one topic, and several topics in one read, against a real server."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, Refused, await_true
from pulsar.schema import AvroSchema
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar


def document(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


ID, WIDE_ID = {"name": "id", "type": "int"}, {"name": "id", "type": "long"}
OLD = {"name": "old", "type": "string", "default": "none"}
TAG = {"name": "tag", "type": ["null", "string"], "default": None}
LEVEL = {"name": "level", "type": "int", "default": 7}
V1, V2, V3 = document(ID, OLD), document(ID, OLD, TAG, LEVEL), document(WIDE_ID, TAG, LEVEL)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "old": "o"},
    {"id": 2, "old": "p", "tag": "t", "level": 1},
    {"id": 2**40, "tag": "u", "level": 2},
]


@pytest.fixture
def free_topic(admin: Admin) -> str:
    """Return a topic in a namespace that accepts every schema."""
    name = f"public/free-{secrets.token_hex(6)}"
    assert admin.request("PUT", f"namespaces/{name}").status < 300
    policy = admin.request("PUT", f"namespaces/{name}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")
    assert policy.status < 300, policy.data
    return f"persistent://{name}/orders"


def send(
    client: official_client.Client, admin: Admin, topic: str, kind: str, written: dict[str, Any], row: dict[str, Any]
) -> None:  # fmt: skip
    """Register a version if it is new, and send one message with it."""
    admin.register(topic, kind, json.dumps(written))
    if kind == "AVRO":
        producer = client.create_producer(topic, schema=AvroSchema(None, schema_definition=written))
        producer.send(row)
    else:
        producer = client.create_producer(topic)
        producer.send(json.dumps(row).encode())
    producer.close()


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_all_versions_are_resolved_to_the_latest(
    kind: str, free_topic: str, official: official_client.Client, admin: Admin, read_topic: ReadTopic
) -> None:
    admin.create(free_topic)
    for written, row in zip((V1, V2, V3), ROWS, strict=True):
        send(official, admin, free_topic, kind, written, row)
    frame = read_topic(free_topic)
    assert frame.columns[:3] == ["id", "tag", "level"]
    assert dict(frame.dtypes)["id"] == "bigint"
    found = [tuple(row) for row in frame.select("id", "tag", "level").collect()]
    assert found == [(1, None, 7), (2, "t", 1), (2**40, "u", 2)]


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_a_users_schema_is_read_over_all_versions(
    kind: str, free_topic: str, official: official_client.Client, admin: Admin, spark: SparkSession, pulsar: LocalPulsar
) -> None:  # fmt: skip
    """The user's schema has a field of earlier versions alone, and a wider number than the latest version."""
    admin.create(free_topic)
    for written, row in zip((V3, V2, V1), reversed(ROWS), strict=True):
        send(official, admin, free_topic, kind, written, row)
    reader = spark.read.format("pulsar").option("service.url", pulsar.service_url).option("topic", free_topic)
    frame = reader.schema("tag string, id bigint, __partition int").load()
    found = [tuple(row) for row in frame.collect()]
    assert found == [("u", 2**40, -1), ("t", 2, -1), (None, 1, -1)]


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_a_stream_keeps_its_schema_and_a_restart_sees_the_new_one(
    kind: str, free_topic: str, official: official_client.Client, admin: Admin, spark: SparkSession,
    pulsar: LocalPulsar, tmp_path: Path,
) -> None:  # fmt: skip
    admin.create(free_topic)
    send(official, admin, free_topic, kind, V1, ROWS[0])

    def stream() -> DataFrame:
        reader = spark.readStream.format("pulsar").option("service.url", pulsar.service_url)
        return reader.options(topic=free_topic, startingOffsets="earliest").load()

    def rows(folder: str) -> list[dict[str, Any]]:
        # Spark cannot read the folder here: while a query runs, Spark refuses a folder without a log of finished
        # batches.
        lines = [
            line for file in (tmp_path / folder).glob("*.json") for line in file.read_text().splitlines()
        ]
        return sorted((json.loads(line) for line in lines), key=lambda row: row["id"])

    def to_json(frame: DataFrame, folder: str) -> Any:
        values = frame.drop(*[name for name in frame.columns if name.startswith("__")])
        return (
            values.writeStream.format("json").option("path", str(tmp_path / folder))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
        )  # fmt: skip

    frame = stream()
    assert frame.columns[:2] == ["id", "old"]
    query = to_json(frame, "first").start()
    query.processAllAvailable()
    assert len(rows("first")) == 1
    send(official, admin, free_topic, kind, V2, ROWS[1])
    # Waiting for the row is not enough: the row appears before Spark commits its micro-batch, which a restart
    # repeats.
    query.processAllAvailable()
    query.stop()
    assert query.exception() is None
    assert rows("first") == [{"id": 1, "old": "o"}, {"id": 2, "old": "p"}]
    send(official, admin, free_topic, kind, V3, ROWS[2])
    frame = stream()
    assert frame.columns[:3] == ["id", "tag", "level"]
    restarted = to_json(frame, "second").trigger(availableNow=True).start()
    assert restarted.awaitTermination(60)
    assert rows("second") == [ROWS[2]]


def test_an_incompatible_version_is_an_error(
    free_topic: str, official: official_client.Client, admin: Admin, read_topic: ReadTopic
) -> None:
    admin.create(free_topic)
    text = document({"name": "id", "type": "string"})
    for written, row in ((V1, ROWS[0]), (text, {"id": "x"}), (V1, {"id": 3, "old": "q"})):
        send(official, admin, free_topic, "AVRO", written, row)
    with pytest.raises(
        Exception,
        match=r"(?s)SchemaError.*schema version [01] of messages to be readable as schema version [01]",
    ):
        read_topic(free_topic).collect()
    frame = read_topic(free_topic, mode="PERMISSIVE", columns="id,_corrupt_record,__schemaVersion")
    found = frame.collect()
    bad = [row for row in found if row._corrupt_record is not None]
    assert len(found) == 3
    assert bad, found
    assert all(row.id is None for row in bad)


def test_equal_schemas_with_different_texts_are_one_schema(
    topic: str, official: official_client.Client, admin: Admin, spark: SparkSession, pulsar: LocalPulsar
) -> None:
    texts = (json.dumps(V1), json.dumps(V1 | {"doc": "orders"}, indent=2, sort_keys=True))
    for suffix, text in zip("ab", texts, strict=True):
        admin.create(f"{topic}-{suffix}")
        admin.register(f"{topic}-{suffix}", "JSON", text)
        producer = official.create_producer(f"{topic}-{suffix}")
        producer.send(json.dumps(ROWS[0]).encode())
        producer.close()
    reader = spark.read.format("pulsar").option("service.url", pulsar.service_url)
    assert [row.id for row in reader.option("topics", f"{topic}-a,{topic}-b").load().collect()] == [1, 1]


def test_topics_with_different_schemas_are_read_as_bytes(
    topic: str, official: official_client.Client, admin: Admin, spark: SparkSession, pulsar: LocalPulsar,
    refused: Refused,
) -> None:  # fmt: skip
    sent: dict[str, Any] = {
        "a": official_client.schema.StringSchema(),
        "b": AvroSchema(None, schema_definition=V1),
    }
    for suffix, schema in sent.items():
        producer = official.create_producer(f"{topic}-{suffix}", schema=schema)
        producer.send("text" if suffix == "a" else {"id": 1, "old": "o"})
        producer.close()
    reader = spark.read.format("pulsar").option("service.url", pulsar.service_url)
    reader = reader.option("topicsPattern", f"{topic.rpartition('/')[2]}-.*")
    text = refused(lambda: reader.load().collect(), "SchemaError")
    for word in (
        "STRING: ",
        "AVRO R(id, old): ",
        f"{topic}-a",
        f"{topic}-b",
        "allowDifferentTopicSchemas=true",
    ):
        assert word in text, text
    frame = reader.option("allowDifferentTopicSchemas", "true").load()
    assert dict(frame.dtypes)["value"] == "binary"
    assert frame.columns[-1] == "__schemaVersion"
    found = {row["__topic"]: (bytes(row["value"]), row["__schemaVersion"]) for row in frame.collect()}
    assert found == {f"{topic}-a": (b"text", 0), f"{topic}-b": (b"\x02\x02o", 0)}


def test_a_topic_of_another_type_stops_a_running_stream(
    topic: str, official: official_client.Client, admin: Admin, spark: SparkSession, pulsar: LocalPulsar, tmp_path: Path
) -> None:  # fmt: skip
    admin.create(f"{topic}-a")
    admin.register(f"{topic}-a", "INT64")
    reader = spark.readStream.format("pulsar").option("service.url", pulsar.service_url)
    frame = reader.option("topicsPattern", f"{topic.rpartition('/')[2]}-.*").load()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    await_true("a trigger", lambda: query.lastProgress is not None or not query.isActive)
    admin.create(f"{topic}-b")
    admin.register(f"{topic}-b", "DOUBLE")
    await_true("the end", lambda: not query.isActive)
    text = str(query.exception())
    assert (
        "which the query has just found: expected a schema compatible with the query's initial schema" in text
    )
    assert "the query's initial schema INT64, got DOUBLE" in text
