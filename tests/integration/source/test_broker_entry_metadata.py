"""What brokers with interceptors add to entries, and what replicators do, as the official Java client gives it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from integration.official import Admin, JavaClient, as_base64, instant
from integration.raw_producer import RawProducer
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

INTERCEPTORS = "org.apache.pulsar.common.intercept.Append{}MetadataInterceptor"
PIECES = [b"first ", b"second ", b"third"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    config = {
        "brokerEntryMetadataInterceptors": ",".join(map(INTERCEPTORS.format, ("BrokerTimestamp", "Index"))),
        "exposingBrokerEntryMetadataToClientEnabled": "true",
    }
    with LocalPulsar(data=tmp_path_factory.mktemp("pulsar"), config=config) as server:
        yield server


def rows_of(spark: SparkSession, server: LocalPulsar, topic: str, **options: str) -> list[dict[str, Any]]:
    reader = spark.read.format("pulsar").option("service.url", server.service_url).option("topic", topic)
    columns = "value,__index,__brokerPublishTime,__replicatedFrom,__messageId"
    return [row.asDict() for row in reader.option("columns", columns).options(**options).load().collect()]


def at_utc(row: dict[str, Any]) -> dt.datetime:
    """Spark gives times in the zone of this process."""
    published: dt.datetime = row["__brokerPublishTime"]
    return published.astimezone(dt.UTC)


def test_every_message_has_its_own(server: LocalPulsar, topic: str, spark: SparkSession) -> None:
    java = JavaClient(server)
    Admin(server.admin_url).create(topic)
    messages = [{"value": as_base64(str(number).encode())} for number in range(20)]
    jobs = [
        {"do": "produce", "topic": topic, "schema": "BYTES", "batching": batching, "compression": codec}
        | {"messages": messages, "keyBased": codec == "ZSTD"}
        for batching, codec in ((True, "LZ4"), (False, "NONE"), (True, "ZSTD"))
    ]
    java.run(*jobs)
    with RawProducer(server.service_url, topic) as raw:
        raw.send(b"replicated", (5, b"east"))
        for number in range(len(PIECES)):
            raw.chunk("u", number, PIECES)
    java.produce(topic, "BYTES", messages)
    theirs = java.read(topic, "BYTES")
    ours = rows_of(spark, server, topic)
    assert len(ours) == 4 * 20 + 2
    assert [
        (as_base64(bytes(row["value"])), row["__index"], at_utc(row), row["__replicatedFrom"]) for row in ours
    ] == [
        (
            row["value"],
            row["index"],
            instant(row["brokerPublishTime"]),
            row["replicatedFrom"] or None,
        )
        for row in theirs
    ]
    # Each message has an index, and chunks have one each.
    assert [row["__index"] for row in ours] == [*range(61), *range(63, 84)]
    assert [row["__replicatedFrom"] for row in ours if row["__replicatedFrom"]] == ["east"]

    # Of a part of a batch too.
    middle = ours[7]["__messageId"]
    start = f'{{"{topic}": "{middle.ledger}:{middle.entry}:{middle.batchIndex}"}}'
    assert rows_of(spark, server, topic, startingOffsets=start) == ours[7:]


def test_without_interceptors_there_is_none(pulsar: LocalPulsar, filled: str, spark: SparkSession) -> None:
    for row in rows_of(spark, pulsar, filled):
        assert row["__index"] is row["__brokerPublishTime"] is row["__replicatedFrom"] is None


def test_what_was_read_can_be_written_back(server: LocalPulsar, topic: str, spark: SparkSession) -> None:
    """And the clusters of a row, which there must be none of here, are stored with it."""
    frame = spark.range(4).selectExpr(
        "cast(id as string) value",
        "7L __index", "timestamp'2026-01-01' __brokerPublishTime", "'west' __replicatedFrom",
        "case when id = 1 then array('test') when id = 2 then array() end __replicationClusters",
    )  # fmt: skip
    writer = frame.coalesce(1).write.format("pulsar").option("service.url", server.service_url)
    writer.option("topic", topic).mode("append").save()
    rows = rows_of(spark, server, topic)
    assert [row["value"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["__messageId"].batchIndex for row in rows] == [0, -1, -1, 0]
    assert [row["__index"] for row in rows] == [0, 1, 2, 3]
    assert all(row["__replicatedFrom"] is None for row in rows)
    now = dt.datetime.now(dt.UTC)
    assert all(abs(now - at_utc(row)) < dt.timedelta(hours=1) for row in rows)
