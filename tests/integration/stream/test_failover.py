"""Two clusters that replicate to each other. One fails; a query continues at the other one, and later
returns.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from integration.official import Admin, await_true, open_client
from integration.streams import finish, has_first_batch
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar

EAST, WEST = "east", "standalone"
PARTITIONS = 2
LIMIT = 25
BEFORE = range(40)
"""Sent in east. In batches of seven, so that the query stops within one."""
BEFORE_IN_WEST = range(100, 120)
AFTER = range(200_000, 200_006)
"""Sent in west when east is gone."""
BACK = range(300_000, 300_006)
"""Sent in east when it is back."""
COLUMNS = "value, __producerName, __sequenceId, __publishTime, __replicatedFrom"


@dataclass(frozen=True)
class Pair:
    """Two clusters with the same topics in one namespace. `west` is the server of all tests."""

    east: LocalPulsar
    west: LocalPulsar
    namespace: str

    def server_of(self, cluster: str) -> LocalPulsar:
        return self.east if cluster == EAST else self.west

    def send(self, cluster: str, topic: str, numbers: range, *, batch: int = 1) -> None:
        client = open_client(self.server_of(cluster).service_url)
        producer = client.create_producer(
            topic,
            batching_enabled=batch > 1,
            batching_max_messages=max(2, batch),
            batching_max_publish_delay_ms=600_000,
        )
        for number in numbers:
            producer.send_async(str(number).encode(), lambda *_: None)
        producer.flush()
        client.close()

    def options(self, cluster: str, topic: str, **options: str) -> dict[str, str]:
        server = self.server_of(cluster)
        return {"service.url": server.service_url, "admin.url": server.admin_url, "topic": topic, **options}

    def rows(self, spark: SparkSession, cluster: str, topic: str, **options: str) -> list[int]:
        reader = spark.read.format("pulsar").options(**self.options(cluster, topic, **options))
        return [int(row.value) for row in reader.load().collect()]

    def stream(self, spark: SparkSession, cluster: str, topic: str, **options: str) -> DataFrame:
        """Count each value, which only a query that keeps its state can do."""
        reader = spark.readStream.format("pulsar").options(**self.options(cluster, topic, **options))
        return reader.load().groupBy(expr("int(string(value)) value")).count()

    def await_rows(self, spark: SparkSession, cluster: str, topic: str, count: int) -> None:
        await_true(f"{count} messages in {cluster}", lambda: len(self.rows(spark, cluster, topic)) == count)

    def failover(self, to: str, where: Path, *more: str) -> tuple[int, str, str]:
        """Run the failover command; return its exit code, standard output and all output."""
        server, former = self.server_of(to), EAST if to == WEST else WEST
        urls = ("--service-url", server.service_url, "--admin-url", server.admin_url)
        result = CliRunner().invoke(cli, ["failover", str(where), "--from", former, *urls, *more])
        return result.exit_code, result.stdout, f"{result.output}{result.exception or ''}"


@pytest.fixture(scope="module")
def pair(pulsar: LocalPulsar, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    tenant = f"replicated-{uuid.uuid4().hex[:8]}"
    config = {"clusterName": EAST}
    with LocalPulsar(data=tmp_path_factory.mktemp("east"), config=config, heap_mebibytes=384) as east:
        pair = Pair(east, pulsar, f"{tenant}/both")
        for cluster, other in ((EAST, WEST), (WEST, EAST)):
            admin, server = Admin(pair.server_of(cluster).admin_url), pair.server_of(other)
            urls = {"serviceUrl": server.admin_url, "brokerServiceUrl": server.service_url}
            for path, body in (
                (f"clusters/{other}", urls),
                (f"tenants/{tenant}", {"allowedClusters": [EAST, WEST]}),
                (f"namespaces/{pair.namespace}", {"replication_clusters": [EAST, WEST]}),
            ):
                answer = admin.request("PUT", path, body)
                assert answer.status < 300, answer.data
        yield pair
    # Otherwise the server would search for the other one as long as it runs.
    for path, body in (
        (f"namespaces/{pair.namespace}/replication", [WEST]),
        (f"tenants/{tenant}", {"allowedClusters": [WEST]}),
    ):
        answer = Admin(pulsar.admin_url).request("POST", path, body)
        assert answer.status < 300, answer.data
    Admin(pulsar.admin_url).request("DELETE", f"clusters/{EAST}")


@dataclass(frozen=True)
class Outage:
    """The state after east has failed. Two queries have read the first 25 messages of their topics there."""

    pair: Pair
    folder: Path
    read: dict[str, list[int]]
    rows: dict[str, list[Any]]
    """The rows of each topic as they were read from cluster east."""

    def topic(self, name: str) -> str:
        return f"persistent://{self.pair.namespace}/{name}"


def partitions_of(server: LocalPulsar, topic: str) -> int:
    path = f"{topic.replace('://', '/')}/partitions"
    return int(json.loads(Admin(server.admin_url).request("GET", path).data).get("partitions", 0))


@pytest.fixture(scope="module")
def outage(pair: Pair, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outage:
    """Return a failed cluster. Topic `one-way` had messages from east alone, topic `two-way` from both
    clusters.
    """
    outage = Outage(pair, tmp_path_factory.mktemp("queries"), {}, {})
    for name in ("one-way", "two-way"):
        topic = outage.topic(name)
        Admin(pair.east.admin_url).create_partitioned(topic, PARTITIONS)
        # East requests the topic in the other cluster, and answers before the topic exists there.
        await_true(
            "the partitions in west", lambda topic=topic: partitions_of(pair.west, topic) == PARTITIONS
        )
        pair.send(EAST, topic, BEFORE, batch=7)
        if name == "two-way":
            pair.send(WEST, topic, BEFORE_IN_WEST)
    for name, count in (("one-way", len(BEFORE)), ("two-way", len(BEFORE) + len(BEFORE_IN_WEST))):
        topic, checkpoint = outage.topic(name), outage.folder / name
        pair.await_rows(spark, EAST, topic, count)
        limited = pair.stream(spark, EAST, topic, startingOffsets="earliest", maxRecordsPerTrigger=str(LIMIT))
        query = (
            limited.writeStream.format("memory").queryName("before").outputMode("complete")
            .option("checkpointLocation", str(checkpoint)).trigger(processingTime="1 hour").start()
        )  # fmt: skip
        await_true("the first micro-batch", has_first_batch(checkpoint))
        query.stop()
        outage.read[name] = [row.value for row in spark.table("before").collect()]
        reader = spark.read.format("pulsar").options(**pair.options(EAST, topic, columns=COLUMNS))
        outage.rows[name] = reader.load().collect()
        pair.await_rows(spark, WEST, topic, count)
    outage.read["followed"] = read_with_subscription(pair, outage.topic("followed"), spark)
    pair.east.stop()
    for name in outage.read:
        pair.send(WEST, outage.topic(name), AFTER)
    return outage


def read_with_subscription(pair: Pair, topic: str, spark: SparkSession) -> list[int]:
    """Return what a query read in east before its subscription reached west. The topic has more messages by
    then.
    """
    Admin(pair.east.admin_url).create(topic)
    options = pair.options(
        EAST, topic, startingOffsets="earliest", subscriptionName="follower",
        **{"pulsar.consumer.replicateSubscriptionState": "true"},
    )  # fmt: skip
    reader = spark.readStream.format("pulsar").options(**options).option("columns", "value")
    writer = reader.load().writeStream.format("memory").queryName("followed")
    query = writer.trigger(processingTime="200 milliseconds").start()
    sent = iter(range(100_000))

    def has_arrived() -> bool:
        first = next(sent)
        pair.send(EAST, topic, range(10 * first, 10 * first + 10))
        subscriptions = Admin(pair.west.admin_url).stats(topic)["subscriptions"]
        return "follower" in subscriptions and subscriptions["follower"]["isReplicated"]

    await_true("replication", lambda: topic in Admin(pair.west.admin_url).topics(pair.namespace))
    await_true("the subscription in west", has_arrived)
    query.stop()
    assert query.exception() is None
    count = 10 * next(sent)
    pair.send(EAST, topic, range(count, count + 10))
    pair.await_rows(spark, WEST, topic, count + 10)
    return sorted(int(row.value) for row in spark.table("followed").collect())


def test_replication_keeps_metadata_and_names_the_source(outage: Outage, spark: SparkSession) -> None:
    """Replication keeps the producer, its sequence ids and times, and adds the source cluster."""
    options = outage.pair.options(WEST, outage.topic("two-way"), columns=COLUMNS)
    rows = spark.read.format("pulsar").options(**options).load().collect()
    west = {tuple(row)[:4]: row["__replicatedFrom"] for row in rows if int(row.value) not in AFTER}
    east = {tuple(row)[:4]: row["__replicatedFrom"] for row in outage.rows["two-way"]}
    assert west.keys() == east.keys()
    assert len({key[1:3] for key in west}) == len(BEFORE) + len(BEFORE_IN_WEST)
    came = Counter((east[key], west[key]) for key in west)
    assert came == {(None, EAST): len(BEFORE), (WEST, None): len(BEFORE_IN_WEST)}


def test_messages_of_one_cluster_are_read_once(outage: Outage, spark: SparkSession) -> None:
    topic, checkpoint = outage.topic("one-way"), outage.folder / "one-way"
    code, offsets, output = outage.pair.failover(WEST, checkpoint, "--one-way", "--json")
    assert code == 0, output
    rows = outage.pair.rows(spark, WEST, topic, startingOffsets=offsets)
    assert len(outage.read["one-way"]) == LIMIT
    assert sorted(outage.read["one-way"] + rows) == [*BEFORE, *AFTER]
    # The query's position is within a batched entry.
    assert any(not position.endswith((":0", "earliest")) for position in json.loads(offsets).values())


def test_messages_of_both_clusters_are_read_at_least_once(outage: Outage, spark: SparkSession) -> None:
    topic, checkpoint = outage.topic("two-way"), outage.folder / "two-way"
    code, stdout, output = outage.pair.failover(WEST, checkpoint)
    assert code == 0, output
    offsets = stdout.rsplit("startingOffsets: ", 1)[1]
    rows = outage.pair.rows(spark, WEST, topic, startingOffsets=offsets)
    assert {*outage.read["two-way"], *rows} == {*BEFORE, *BEFORE_IN_WEST, *AFTER}
    assert f"{topic}-partition-1" in stdout


def test_a_replicated_subscription_is_not_past_unread_messages(outage: Outage, spark: SparkSession) -> None:
    topic, read = outage.topic("followed"), outage.read["followed"]
    rows = outage.pair.rows(spark, WEST, topic, startingSubscription="follower")
    assert read == list(range(len(read)))
    assert rows == [*range(rows[0], max(row for row in rows if row not in AFTER) + 1), *AFTER]
    assert 0 < rows[0] <= len(read)


def test_a_query_keeps_its_state_over_failover_and_return(outage: Outage, spark: SparkSession) -> None:
    pair, topic = outage.pair, outage.topic("one-way")

    def continue_at(cluster: str, checkpoint: Path) -> dict[int, int]:
        query = (
            pair.stream(spark, cluster, topic).writeStream.format("memory").queryName("after")
            .outputMode("complete").option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True).start()
        )  # fmt: skip
        finish(query)
        return {row.value: row["count"] for row in spark.table("after").collect()}

    there = outage.folder / "there"
    code, _, output = pair.failover(WEST, outage.folder / "one-way", "--one-way", "--write", str(there))
    assert code == 0, output
    assert continue_at(WEST, there) == dict.fromkeys([*BEFORE, *AFTER], 1)

    pair.east.start(with_caller=True)
    pair.await_rows(spark, EAST, topic, len(BEFORE) + len(AFTER))
    pair.send(EAST, topic, BACK)
    back = outage.folder / "back"
    code, _, output = pair.failover(EAST, there, "--margin", "0s", "--write", str(back))
    assert code == 0, output
    assert continue_at(EAST, back) == dict.fromkeys([*BEFORE, *AFTER, *BACK], 1)


def test_failover_refuses_wrong_clusters_and_topics(outage: Outage, tmp_path: Path) -> None:
    pair, checkpoint = outage.pair, outage.folder / "one-way"
    code, _, output = pair.failover(WEST, checkpoint, "--from", "north")
    assert code == 1
    assert "east, standalone, got 'north'; correct the name in --from" in output
    (tmp_path / "offset").write_text('{"version": 1, "positions": {"public/default/never-there": "1:2"}}')
    code, _, output = pair.failover(WEST, tmp_path / "offset")
    assert code == 1
    missing = "this cluster lacks topic partitions of the query:"
    assert f"{missing} persistent://public/default/never-there;" in output
