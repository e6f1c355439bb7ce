"""Kinds of queries with state, stopped, started again and changed as Spark allows, with their checkpoints in Pulsar.

One session runs them. `transformWithState` is in test_connect.py, and format 1 with RocksDB in test_crashes.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pulsar as official_client
import pytest
from integration.checkpoint.checkpoints import PROVIDERS, location, new_name, of_session
from integration.official import Admin
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar.session.checkpoints import checkpoint_conf
from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.tools.standalone import LocalPulsar

Rows = list[tuple[Any, ...]]
Streamed = Callable[[str], DataFrame]
_SECONDS = 120
_START_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def checkpoints(spark: SparkSession, pulsar: LocalPulsar) -> Iterator[None]:
    """Apply the settings that `configure` makes for a new session."""
    catalog = catalog_settings(pulsar.service_url, catalog="ckpt", python=sys.executable)
    settings = catalog | of_session(checkpoint_conf("ckpt", {}, None))
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key in settings:
        spark.conf.unset(key)


@pytest.fixture(params=["rocksdb-2", "default-1"])
def provider(request: pytest.FixtureRequest, spark: SparkSession, checkpoints: None) -> Iterator[str]:
    settings = dict(PROVIDERS[request.param])
    if request.param == "default-1":
        # The settings of a session without any setting about checkpoints.
        settings["spark.sql.streaming.checkpoint.fileChecksum.enabled"] = "true"
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield request.param
    for key in settings:
        spark.conf.unset(key)


@pytest.fixture
def streamed(spark: SparkSession, pulsar: LocalPulsar) -> Streamed:
    def read(topic: str) -> DataFrame:
        stream = spark.readStream.format("pulsar").option("service.url", pulsar.service_url)
        rows = stream.option("topic", topic).option("startingOffsets", "earliest").load()
        return rows.selectExpr(
            "cast(__key as string) as key", "cast(value as string) as text", "__eventTime as at"
        )

    return read


class Kinds:
    """The queries, and the rows that each has given so far."""

    def __init__(self, left: DataFrame, right: DataFrame) -> None:
        self.rows: dict[str, Rows] = {}
        watermarked = left.withWatermark("at", "10 seconds")
        other = right.withWatermark("at", "10 seconds").selectExpr("key as k", "text as other", "at as then")
        self._frames = {
            "counts": (left.groupBy("key").count(), "update"),
            "distinct": (watermarked.dropDuplicatesWithinWatermark(["text"]).select("key", "text"), "append"),
            "joined": (
                watermarked.join(
                    other,
                    expr("key = k and text = other and at between then and then + interval 5 seconds"),
                ).select("key", "text"),
                "append",
            ),
        }

    def start(self, names: dict[str, str]) -> list[StreamingQuery]:
        """Start all queries over the available messages, without waiting. `names` are the checkpoints, by
        kind.
        """
        return [
            frame.writeStream.foreachBatch(self._taking(kind))
            .option("checkpointLocation", location(names[kind]))
            .outputMode(mode)
            .trigger(availableNow=True)
            .start()
            for kind, (frame, mode) in self._frames.items()
        ]

    def _taking(self, kind: str) -> Callable[[DataFrame, int], None]:
        taken = self.rows.setdefault(kind, [])

        def take(batch: DataFrame, number: int) -> None:
            taken.extend(tuple(row) for row in batch.collect())

        return take


def send(client: official_client.Client, topic: str, numbers: range) -> None:
    producer = client.create_producer(topic)
    for number in numbers:
        # Each text twice.
        text = "x" * (number // 2 % 7) + str(number // 2)
        producer.send_async(
            text.encode(),
            lambda *_: None,
            partition_key=f"k{number // 2 % 3}",
            event_timestamp=_START_MS + number,
        )
    producer.flush()
    producer.close()


def kill_store(spark: SparkSession) -> None:
    """Kill the process beside the JVM that keeps its checkpoints, with SIGKILL."""
    jvm: Any = spark.sparkContext._jvm
    parent = str(jvm.java.lang.ProcessHandle.current().pid())
    shown = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", parent], capture_output=True, text=True, check=True
    )
    stores = [line.split()[0] for line in shown.stdout.splitlines() if "-m pyspark_pulsar.checkpoint" in line]
    assert len(stores) == 1, "one process for equal settings"
    os.kill(int(stores[0]), signal.SIGKILL)


def await_all(queries: list[StreamingQuery]) -> None:
    for query in queries:
        assert query.awaitTermination(_SECONDS), query.status
        assert query.exception() is None


def test_queries_of_each_kind_continue(
    provider: str,
    spark: SparkSession,
    streamed: Streamed,
    official: official_client.Client,
    admin: Admin,
    topic: str,
) -> None:
    other = f"{topic}-other"
    admin.create(topic)
    admin.create(other)
    names = {kind: new_name() for kind in ("counts", "distinct", "joined")}
    queries = Kinds(streamed(topic), streamed(other))
    for begin in (0, 40, 80):
        if begin:
            # A new process answers the JVM's next request.
            kill_store(spark)
        send(official, topic, range(begin, begin + 40))
        send(official, other, range(begin, begin + 40))
        await_all(queries.start(names))
    texts = ["x" * (number % 7) + str(number) for number in range(60)]
    expected = {f"k{key}": texts[key::3] for key in range(3)}
    rows = queries.rows
    for key, those in expected.items():
        counted = [count for found, count in rows["counts"] if found == key]
        assert counted == sorted(set(counted))
        assert counted[-1] == 2 * len(those)
        assert [text for found, text in sorted(rows["distinct"]) if found == key] == sorted(those)
        # Each of two rows on the left is joined with the rows of the right that were not later.
        joined = [text for found, text in rows["joined"] if found == key]
        assert {text: joined.count(text) for text in those} == dict.fromkeys(those, 3)
    if provider == "rocksdb-2":
        assert_state_is_read(spark, names, expected)
        assert_changed_query_goes_on(spark, streamed, official, topic, names["counts"])


def assert_state_is_read(spark: SparkSession, names: dict[str, str], expected: dict[str, list[str]]) -> None:
    """Check the state of stopped queries with the source `statestore`, and its metadata with
    `state-metadata`.
    """
    state = spark.read.format("statestore").load(location(names["counts"]))
    found = state.selectExpr("key.key as key", "value.count as count").collect()
    assert {row.key: row["count"] for row in found} == {
        key: 2 * len(those) for key, those in expected.items()
    }
    assert spark.read.format("state-metadata").load(location(names["counts"])).count() == 1
    sides = spark.read.format("statestore").option("joinSide", "left").load(location(names["joined"]))
    assert sides.count() == sum(2 * len(those) for those in expected.values())


def assert_changed_query_goes_on(
    spark: SparkSession, streamed: Streamed, official: official_client.Client, topic: str, name: str
) -> None:
    """Check a query with one more filter, another sink and another trigger, which Spark allows with this state."""
    send(official, topic, range(120, 132))
    counts = streamed(topic).where("text <> 'xxxx60'").groupBy("key").count()
    query = (
        counts.writeStream.format("memory")
        .queryName("changed")
        .option("checkpointLocation", location(name))
        .outputMode("complete")
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        query.processAllAvailable()
        found = {row.key: row["count"] for row in spark.table("changed").collect()}
        # What is filtered was of the first key, twice.
        assert found == {"k0": 42, "k1": 44, "k2": 44}
    finally:
        query.stop()
