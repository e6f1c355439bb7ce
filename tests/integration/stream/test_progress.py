"""Subscriptions that follow Spark's commits, and the lag that a stream reports."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from integration.official import Admin, Refused, await_true, python_client
from integration.streams import Stream, finish, has_first_batch, send_numbers, to_files, values_in
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar import PulsarProgressListener
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import OptionError, PermissionDenied, SubscriptionBusy
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST, FROM_LATEST, OffsetBound
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.spark.read_limits import ReadAllAvailable
from pyspark_pulsar.tools.monitoring.query_history import QueryHistory
from pyspark_pulsar.tools.monitoring.source_lag import Lag
from pyspark_pulsar.tools.standalone import LocalPulsar

PROGRAM = Path(__file__).parents[2] / "programs" / "stream_to_files.py"
NAME = "the-query"


def backlog(admin: Admin, topic: str, partitions: int = 0, name: str = NAME) -> int:
    """Return the number of entries that the subscription has not acknowledged, by Pulsar's own count."""
    total = 0
    for each in [topic] if not partitions else [f"{topic}-partition-{n}" for n in range(partitions)]:
        stats = admin.stats(each)
        total += int(stats["subscriptions"][name]["msgBacklog"])
    return total


@pytest.fixture
def reader(pulsar: LocalPulsar) -> Callable[..., PulsarStreamReader]:
    """Return a function that makes a stream's reader in the test's process, instead of a query's driver
    process.
    """
    made: list[PulsarStreamReader] = []

    def make(**options: Any) -> PulsarStreamReader:
        given = ReadOptions(service_url=pulsar.service_url, **options)
        made.append(PulsarStreamReader(given, resolve_source_schema(given)))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def plan(reader: PulsarStreamReader, start: dict[str, Any] | None = None) -> dict[str, Any]:
    return reader.latestOffset(start or reader.initialOffset(), ReadAllAvailable())


# The subscription


def test_pulsars_backlog_falls_to_0_on_all_partitions(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    """Spark never calls `commit` for the last micro-batch of Trigger.AvailableNow."""
    admin.create_partitioned(topic, 3)
    send_numbers(official, topic, range(500))
    options = {"topic": topic, "startingOffsets": "earliest", "subscriptionName": NAME}
    finish(to_files(stream(**options), tmp_path).trigger(availableNow=True).start(), 120)
    await_true("no backlog", lambda: backlog(admin, topic, 3) == 0)
    send_numbers(official, topic, range(500, 700))
    assert backlog(admin, topic, 3) > 0
    query = to_files(stream(**options), tmp_path).start()
    try:
        await_true("no backlog", lambda: backlog(admin, topic, 3) == 0)
        send_numbers(official, topic, range(700, 800))
        query.processAllAvailable()
        await_true("no backlog", lambda: backlog(admin, topic, 3) == 0)
    finally:
        query.stop()
    assert query.exception() is None
    assert values_in(spark, tmp_path) == Counter(range(800))

    def subscriptions() -> set[str]:
        return {each for n in range(3) for each in admin.subscriptions(f"{topic}-partition-{n}")}

    # A broker removes the subscriptions of closed readers after a moment.
    await_true("no other subscription", lambda: subscriptions() == {NAME})


def test_a_failed_micro_batch_is_neither_acknowledged_nor_removed(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    """The subscription alone keeps messages that Spark has not committed, if the namespace has no retention."""
    namespace = f"public/{uuid.uuid4().hex[:8]}"
    admin.make_namespace(namespace)
    topic = f"persistent://{namespace}/t"
    admin.create(topic)
    send_numbers(official, topic, range(100))
    frame = stream(topic=topic, startingOffsets="earliest", subscriptionName=NAME)

    def fail(batch: DataFrame, _: int) -> None:
        raise RuntimeError(f"{batch.count()} rows are not stored")

    query = (
        frame.writeStream.foreachBatch(fail)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(Exception, match="100 rows are not stored"):
        query.awaitTermination(120)
    unread = backlog(admin, topic)
    assert unread == admin.entries(topic)
    admin.unload(topic)
    send_numbers(official, topic, range(100, 150))
    admin.retain_nothing(topic)
    assert backlog(admin, topic) > unread
    finish(to_files(frame, tmp_path).trigger(availableNow=True).start(), 120)
    assert values_in(spark, tmp_path) == Counter(range(150))
    await_true("no backlog", lambda: backlog(admin, topic) == 0)
    admin.unload(topic)
    send_numbers(official, topic, range(1))
    admin.trim(topic, to_ledgers=1)


def test_an_entry_that_is_read_in_part_stays_unacknowledged(
    topic: str, official: official_client.Client, admin: Admin, reader: Callable[..., PulsarStreamReader]
) -> None:
    producer = official.create_producer(
        topic, batching_enabled=True, batching_max_messages=10, batching_max_publish_delay_ms=600_000
    )
    ids: list[official_client.MessageId] = []
    for number in range(30):
        producer.send_async(str(number).encode(), callback=lambda _, sent: ids.append(sent))
    producer.flush()
    stream = reader(topic=topic, starting_offsets=FROM_EARLIEST, subscription_name=NAME)
    end = plan(stream)
    assert backlog(admin, topic) == 3
    inside = f"{ids[10].ledger_id()}:{ids[10].entry_id()}:4"
    stream.commit({"version": 1, "positions": {topic: inside}})
    assert backlog(admin, topic) == 2
    stream.commit(end)
    assert backlog(admin, topic) == 0
    stream.commit({"version": 1, "positions": {topic: inside}})
    assert backlog(admin, topic) == 0, "a cursor never goes back"


def test_the_subscription_is_made_where_the_query_starts(
    filled: str, official: official_client.Client, admin: Admin, reader: Callable[..., PulsarStreamReader]
) -> None:
    plan(reader(topic=filled, starting_offsets=FROM_LATEST, subscription_name=NAME))
    plan(reader(topic=filled, starting_offsets=FROM_EARLIEST, subscription_name="other"))
    assert (backlog(admin, filled), backlog(admin, filled, name="other")) == (0, 10)


def test_a_cursor_survives_an_unload(
    filled: str, admin: Admin, reader: Callable[..., PulsarStreamReader]
) -> None:
    stream = reader(topic=filled, starting_offsets=FROM_EARLIEST, subscription_name=NAME)
    start = plan(stream)
    admin.unload(filled)
    end = plan(stream, start)
    assert end["positions"] == start["positions"]
    await_true("no backlog", lambda: backlog(admin, filled) == 0)


def test_a_cursor_ahead_of_the_checkpoint_is_reported_and_stays(
    filled: str,
    official: official_client.Client,
    admin: Admin,
    reader: Callable[..., PulsarStreamReader],
    caplog: pytest.LogCaptureFixture,
) -> None:
    ahead = reader(topic=filled, starting_offsets=FROM_LATEST, subscription_name=NAME)
    end = plan(ahead)
    ahead.stop()
    caplog.clear()
    behind = reader(topic=filled, starting_offsets=FROM_EARLIEST, subscription_name=NAME)
    planned = plan(behind)
    assert planned["from"] == {filled: "earliest"}
    (text,) = [each.getMessage() for each in caplog.records if "subscription" in each.getMessage()]
    assert f"subscription {NAME!r} at {end['positions'][filled]}, query at earliest" in text
    assert backlog(admin, filled) == 0
    behind.stop()
    caplog.clear()
    # The end of a full ledger and the start of the next are the same position.
    admin.unload(filled)
    plan(reader(topic=filled, subscription_name=NAME), end)
    assert not [each for each in caplog.records if "subscription" in each.getMessage()]


@pytest.mark.parametrize(
    "kind",
    [official_client.ConsumerType.Shared, official_client.ConsumerType.Exclusive],
    ids=["shared", "exclusive"],
)
def test_a_subscription_that_others_use_is_refused(
    kind: official_client.ConsumerType,
    filled: str,
    official: official_client.Client,
    reader: Callable[..., PulsarStreamReader],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyspark_pulsar.read.microbatch.progress.subscription._BUSY_SECONDS", 0.5)
    official.subscribe(filled, NAME, consumer_type=kind)
    with pytest.raises(SubscriptionBusy, match=f"'{NAME}' of {filled}.*option subscriptionName"):
        plan(reader(topic=filled, subscription_name=NAME))


def test_the_error_without_automatic_subscriptions_names_the_remedy(
    admin: Admin, pulsar: LocalPulsar, reader: Callable[..., PulsarStreamReader]
) -> None:
    namespace = f"public/{uuid.uuid4().hex[:8]}"
    admin.make_namespace(namespace)
    topic = f"persistent://{namespace}/t"
    admin.create(topic)
    policy = {"allowAutoSubscriptionCreation": False}
    assert admin.request("POST", f"namespaces/{namespace}/autoSubscriptionCreation", policy).status < 300

    def is_refused() -> bool:
        # The client retries after the refusal, until its timeout.
        with python_client(pulsar.service_url, seconds=2) as client:
            try:
                client.subscribe(topic, uuid.uuid4().hex).close()
            except official_client.PulsarException:
                return True
        return False

    # A broker applies policies after a moment.
    await_true("the policy", is_refused)
    with pytest.raises(OptionError, match=f"'{NAME}' of {topic}.*allowAutoSubscriptionCreation"):
        plan(reader(topic=topic, subscription_name=NAME))


def test_a_batch_has_no_subscription(
    filled: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused
) -> None:
    frame = spark.read.format("pulsar").option("service.url", pulsar.service_url).option("topic", filled)
    refused(lambda: frame.option("subscriptionName", NAME).load().count(), "OptionError")


def test_a_query_without_subscription_name_leaves_no_subscription(
    topic: str,
    tmp_path: Path,
    pulsar: LocalPulsar,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    send_numbers(official, topic, range(100))
    query = to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path / "stopped").start()
    await_true("the first micro-batch", has_first_batch(tmp_path / "stopped" / "checkpoint"), 120)
    query.stop()
    killed = subprocess.Popen(
        [sys.executable, PROGRAM, tmp_path / "checkpoint", pulsar.service_url, topic, tmp_path / "rows"],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        start_new_session=True,
    )
    try:
        await_true("the first micro-batch", has_first_batch(tmp_path / "checkpoint"), 120)
        await_true("an idle consumer for the ends", lambda: bool(admin.subscriptions(topic)))
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait(30)
    await_true("no subscription", lambda: not admin.subscriptions(topic))


# Reported lag and warnings


def test_progress_and_listener_report_the_lag(
    topic: str, tmp_path: Path, spark: SparkSession, pulsar: LocalPulsar, stream: Stream,
    official: official_client.Client, admin: Admin,
) -> None:  # fmt: skip
    admin.create_partitioned(topic, 2)
    producer = official.create_producer(f"{topic}-partition-1")
    for number in range(60):
        producer.send(str(number).encode())
    metrics = tmp_path / "pulsar.prom"
    listener = PulsarProgressListener(metrics)
    spark.streams.addListener(listener)
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "500")
    options = {"topic": topic, "startingOffsets": "earliest", "admin.url": pulsar.admin_url}
    query = to_files(stream(**options), tmp_path).queryName("lagging").start()
    try:
        query.processAllAvailable()
        found = next(each for each in query.recentProgress if each.numInputRows == 60)
        lag = json.loads(found.sources[0].latestOffset)["lag"]
        busy, idle = f"{topic}-partition-1", f"{topic}-partition-0"
        assert lag["partitions"].keys() == {busy}
        assert lag["messages"] == lag["partitions"][busy]["messages"] == 60
        assert 60 * 20 < lag["bytes"] < 60 * 200
        assert 0 < lag["seconds"] < 60
        counted = found.sources[0].metrics
        assert int(counted["readEntries.broker"]) == 60
        assert lag["bytes"] / 2 < int(counted["readBytes.broker"]) < lag["bytes"] * 2
        await_true("an idle query", lambda: [each.total for each in listener.lags] == [Lag()])
        (told,) = listener.lags
        assert (told.query_name, told.query_id, told.rows) == ("lagging", str(query.id), 60)
        assert told.partitions == {idle: Lag(), busy: Lag()}
        labels = f'query="lagging",query_id="{query.id}",source="0",topic="{topic}"'
        sample = f"pyspark_pulsar_lag_messages{{{labels}}} 0.0"
        await_true("metrics", lambda: sample in metrics.read_text().splitlines())
        query.stop()
        await_true("the end", lambda: listener.lags == [])
    finally:
        query.stop()
        spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")
        spark.streams.removeListener(listener)


def test_the_last_progress_has_the_lag_at_the_end_of_the_run(
    topic: str, tmp_path: Path, pulsar: LocalPulsar, stream: Stream, official: official_client.Client
) -> None:
    producer = official.create_producer(topic)
    for number in range(60):
        producer.send(str(number).encode())
    options = {
        "topic": topic,
        "startingOffsets": "earliest",
        "admin.url": pulsar.admin_url,
        "lagIntervalMs": 0,
    }
    frame = stream(**options, maxRecordsPerTrigger=25)
    query = to_files(frame, tmp_path).trigger(availableNow=True).start()
    finish(query, 120)
    told = [json.loads(each.sources[0].latestOffset)["lag"] for each in query.recentProgress]
    assert [each.numInputRows for each in query.recentProgress] == [25, 25, 10]
    assert [lag["messages"] for lag in told] == [35, 10, 0]
    assert (told[-1]["bytes"], told[-1]["seconds"], told[-1]["partitions"]) == (0, 0.0, {})
    history = QueryHistory("ended")
    for progress in query.recentProgress:
        history.take(json.loads(progress.json))
    ((*_, last),) = history.sources.values()
    assert (last.messages, last.rows) == (0, 10)


def test_lag_counts_only_messages_before_the_querys_end(
    topic: str, official: official_client.Client, reader: Callable[..., PulsarStreamReader]
) -> None:
    send_numbers(official, topic, range(70))
    end = plan(reader(topic=topic, starting_offsets=FROM_EARLIEST))
    send_numbers(official, topic, range(7))
    ((name, position),) = end["positions"].items()
    ending = OffsetBound.parse("endingOffsets", json.dumps({name: position}))
    stream = reader(topic=topic, starting_offsets=FROM_EARLIEST, ending_offsets=ending, lag_interval_ms=0)
    plan(stream)
    assert (stream.reportLatestOffset() or {})["lag"]["messages"] == 0


def test_lag_is_reported_without_the_admin_rest_api(
    topic: str, official: official_client.Client, reader: Callable[..., PulsarStreamReader]
) -> None:
    send_numbers(official, topic, range(70))  # 7 a batch
    stream = reader(topic=topic, starting_offsets=FROM_EARLIEST, lag_interval_ms=0)
    end = plan(stream)

    def lag() -> dict[str, Any]:
        plan(stream)
        return dict((stream.reportLatestOffset() or {})["lag"])

    await_true("a measurement", lambda: lag()["messages"] == 70)
    assert 0 <= lag()["seconds"] < 60
    plan(stream, end)
    assert stream.reportLatestOffset()["lag"]["messages"] == 0
    assert stream.reportLatestOffset()["lag"]["partitions"] == {}


def test_a_namespace_without_retention_is_warned_of(
    official: official_client.Client, admin: Admin, pulsar: LocalPulsar,
    reader: Callable[..., PulsarStreamReader], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    namespace = f"public/{uuid.uuid4().hex[:8]}"
    admin.make_namespace(namespace)
    topic = f"persistent://{namespace}/t"
    admin.create(topic)

    def warnings(**options: Any) -> list[str]:
        caplog.clear()
        plan(reader(topic=topic, admin_url=pulsar.admin_url, **options))
        return [
            each.getMessage()
            for each in caplog.records
            if each.levelno == logging.WARNING and namespace in each.getMessage()
        ]

    assert not warnings(), "the server keeps all"
    admin.retain_nothing(topic)
    await_true("the policy is known", lambda: bool(warnings()))
    (text,) = warnings()
    assert "retains no messages" in text
    assert not warnings(subscription_name=NAME)


def test_an_idle_stream_without_rights_requests_ledgers_ahead_once(
    filled: str,
    pulsar: LocalPulsar,
    reader: Callable[..., PulsarStreamReader],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requested: list[str] = []
    get = RestClient.get

    def refusing(self: RestClient, path: str, *rest: Any) -> Any:
        if "/internal" in path or path.endswith("bookies/all"):
            requested.append(path)
            raise PermissionDenied("no")
        return get(self, path, *rest)

    monkeypatch.setattr(RestClient, "get", refusing)
    stream = reader(topic=filled, admin_url=pulsar.admin_url, starting_offsets=FROM_LATEST)
    end = plan(stream)
    for _ in range(3):
        end = plan(stream, end)
    assert len([path for path in requested if path.endswith("bookies/all")]) == 1
