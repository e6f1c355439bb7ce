"""History and what follows it: every row once, in one of the two, while somebody goes on writing."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from integration.official import Admin, await_true, messages_of
from integration.streams import Sending, finish, send_numbers, to_files
from pyspark.sql import DataFrame, Row, SparkSession

from pyspark_pulsar import HistoryAndLive, history_and_live
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators, OpenTransaction
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.session.configure import session_conf
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.sender import DeliveryTerms
from pyspark_pulsar.write.target import settle_topic
from pyspark_pulsar.write.task import send_rows

Seam = Callable[..., HistoryAndLive]
COLUMNS = ["value", "__key", "__messageId"]


BOTH_READERS = pytest.mark.parametrize("take", ["broker", "direct"], indirect=True)


@pytest.fixture
def take(request: pytest.FixtureRequest, spark: SparkSession, pulsar: LocalPulsar) -> Seam:
    """`take(**options)`: the boundary of topics now; history past the broker, or through it."""
    direct = getattr(request, "param", "direct") == "direct"
    admin = {"adminUrl": pulsar.admin_url} if direct else {}

    def history_and_live_of(**options: Any) -> HistoryAndLive:
        return history_and_live(spark, serviceUrl=pulsar.service_url, **admin, **options)

    return history_and_live_of


def rows_of(frame: DataFrame) -> list[Row]:
    return sorted(frame.select(*COLUMNS).collect(), key=place)


def place(row: Row) -> tuple[int, ...]:
    found = row["__messageId"]
    return (found["partition"], found["ledger"], found["entry"], found["batchIndex"])


def numbers(rows: list[Row]) -> list[int]:
    return [int(bytes(row["value"])) for row in rows]


def live_rows(spark: SparkSession, live: DataFrame, folder: Path) -> list[Row]:
    """What the stream has until it has caught up; called again with the same folder it goes on."""
    finish(to_files(live, folder).trigger(availableNow=True).start(), 120)
    return rows_of(spark.read.parquet(str(folder / "rows")))


def check(history: list[Row], live: list[Row], count: int) -> None:
    """Every number below `count` once; positions and the numbers of a key grow from one part to the next."""
    found = numbers(history) + numbers(live)
    assert len(found) == count
    assert len(set(found)) == count
    assert set(found) == set(range(count))
    ends: dict[int, tuple[int, ...]] = {}
    by_key: dict[bytes, list[int]] = defaultdict(list)
    for row in [*history, *live]:
        assert place(row) > ends.get(row["__messageId"]["partition"], (-2,))
        ends[row["__messageId"]["partition"]] = place(row)
        by_key[bytes(row["__key"])].append(int(bytes(row["value"])))
    assert all(each == sorted(each) for each in by_key.values())


@BOTH_READERS
def test_a_writer_that_never_stops(
    topic: str, spark: SparkSession, take: Seam, official: official_client.Client, admin: Admin,
    rng: random.Random, tmp_path: Path,
) -> None:  # fmt: skip
    admin.create_partitioned(topic, 3)
    with Sending(official, topic, rng) as sending:
        await_true("history", lambda: sending.count > 400)
        both = take(topic=topic)
        then = sending.count
        await_true("more rows before the stream begins", lambda: sending.count > then + 200)
        history = rows_of(both.history)
        query = to_files(both.live, tmp_path / "live").start()
        behind = sending.count
        await_true("rows while the stream runs", lambda: sending.count > behind + 400)
    await_true(
        "the stream to have caught up", lambda: bool(query.status) and caught_up(official, topic, query)
    )
    query.stop()
    live = live_rows(spark, both.live, tmp_path / "live")
    assert len(history) > 300
    assert len(live) > 500
    check(history, live, sending.count)
    # The bounds are fixed: read again, history is the same.
    assert rows_of(both.history) == history


def caught_up(official: official_client.Client, topic: str, query: Any) -> bool:
    progress = query.lastProgress
    return progress is not None and progress["numInputRows"] == 0


def test_partitions_that_are_added_behind_the_boundary(
    topic: str,
    spark: SparkSession,
    take: Seam,
    official: official_client.Client,
    admin: Admin,
    tmp_path: Path,
) -> None:
    admin.create_partitioned(topic, 2)
    send_numbers(official, topic, range(100))
    both = take(topic=topic)
    admin.update_partitions(topic, 4)
    send_numbers(official, topic, range(100, 300))
    assert {message.topic_name()[-1] for message in messages_of(official, topic)} == {"0", "1", "2", "3"}
    assert sorted(numbers(rows_of(both.history))) == list(range(100))
    assert sorted(numbers(live_rows(spark, both.live, tmp_path))) == list(range(100, 300))
    admin.update_partitions(topic, 5)
    send_numbers(official, topic, range(300, 400))
    assert sorted(numbers(live_rows(spark, both.live, tmp_path))) == list(range(100, 400))


def test_topics_that_come_later(
    topic: str, spark: SparkSession, take: Seam, official: official_client.Client, tmp_path: Path
) -> None:
    send_numbers(official, f"{topic}-a", range(50))
    both = take(topicsPattern=f"{topic}-.*")
    send_numbers(official, f"{topic}-b", range(50, 80))
    send_numbers(official, f"{topic}-a", range(80, 90))
    assert numbers(rows_of(both.history)) == list(range(50))
    assert sorted(numbers(live_rows(spark, both.live, tmp_path))) == list(range(50, 90))


def test_a_topic_without_messages(
    topic: str,
    spark: SparkSession,
    take: Seam,
    official: official_client.Client,
    admin: Admin,
    tmp_path: Path,
) -> None:
    admin.create(topic)
    both = take(topic=topic)
    assert both.history.count() == 0
    send_numbers(official, topic, range(20))
    assert both.history.count() == 0
    assert numbers(live_rows(spark, both.live, tmp_path)) == list(range(20))


@BOTH_READERS
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_transaction_that_is_open_at_the_seam(
    end: str, topic: str, spark: SparkSession, pulsar: LocalPulsar, take: Seam, official: official_client.Client,
    tmp_path: Path,
) -> None:  # fmt: skip
    send_numbers(official, topic, range(30))
    options = WriteOptions(service_url=pulsar.service_url, topic=topic)
    batch = pa.record_batch({"value": [str(number).encode() for number in range(30, 60)]})
    with BrokerClient(options) as client:
        coordinators = Coordinators(client)
        transaction = coordinators.begin(600_000)
        target = settle_topic(client, options, TopicName.parse(topic), batch.schema, None)
        terms = DeliveryTerms(transaction=OpenTransaction(coordinators, transaction))
        send_rows(options, target, iter([batch]), client, terms)
        send_numbers(official, topic, range(60, 90))
        both = take(topic=topic)
        assert numbers(rows_of(both.history)) == list(range(30))
        if end == "commit":
            coordinators.commit_all([transaction])
        else:
            coordinators.abort_all([transaction])
    send_numbers(official, topic, range(90, 100))
    expected = list(range(30, 100)) if end == "commit" else list(range(60, 100))
    assert numbers(rows_of(both.history)) == list(range(30))
    assert numbers(live_rows(spark, both.live, tmp_path)) == expected


def test_where_history_begins(
    topic: str, spark: SparkSession, take: Seam, official: official_client.Client, tmp_path: Path
) -> None:
    consumer = official.subscribe(topic, "reader")
    send_numbers(official, topic, range(100))
    for _ in range(40):
        message = consumer.receive(30_000)
    consumer.acknowledge_cumulative(message)
    consumer.close()
    by_subscription = take(topic=topic, startingSubscription="reader")
    # A batched entry of which some messages are acknowledged is read again.
    entry = f"{message.message_id().ledger_id()}:{message.message_id().entry_id()}"
    by_position = take(topic=topic, startingOffsets=json.dumps({topic: entry}))
    found = numbers(rows_of(by_position.history))
    assert found == list(range(35, 100))
    consumer = official.subscribe(topic, "reader")
    consumer.seek(official_client.MessageId.latest)
    consumer.close()
    send_numbers(official, topic, range(100, 110))
    assert numbers(rows_of(by_subscription.history)) == found
    assert numbers(live_rows(spark, by_position.live, tmp_path)) == list(range(100, 110))


def test_a_checkpoint_wins_over_the_seam(
    topic: str, spark: SparkSession, take: Seam, official: official_client.Client, tmp_path: Path
) -> None:
    send_numbers(official, topic, range(10))
    first = take(topic=topic)
    send_numbers(official, topic, range(10, 20))
    live_rows(spark, first.live, tmp_path)
    send_numbers(official, topic, range(20, 30))
    again = take(topic=topic)
    assert numbers(live_rows(spark, again.live, tmp_path)) == list(range(10, 30))


def test_a_table_of_the_catalog(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, tmp_path: Path
) -> None:
    send_numbers(official, topic, range(40))
    for key, value in session_conf(pulsar.service_url, pulsar.admin_url, catalog="seams").items():
        if key.startswith("spark.sql.catalog.seams"):
            spark.conf.set(key, value)
    both = history_and_live(
        spark, f"seams.`public/default`.`{TopicName.parse(topic).local}`", minPartitions=2
    )
    send_numbers(official, topic, range(40, 70))
    assert numbers(rows_of(both.history)) == list(range(40))
    assert numbers(live_rows(spark, both.live, tmp_path)) == list(range(40, 70))
