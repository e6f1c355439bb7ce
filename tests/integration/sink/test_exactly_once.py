"""The exactly-once sink against a real broker, read by the official client."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pulsar as official_client
import pytest
from fixtures.forwarder import Forwarder, SeenCommand
from integration.official import Admin, messages_of
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.client.broker.connection.commands import END_TXN
from pyspark_pulsar.tools.standalone import LocalPulsar

RunStream = Callable[..., None]
FROZEN_SECONDS = 25.0


def values(client: official_client.Client, topic: str) -> Counter[str]:
    return Counter(message.data().decode() for message in messages_of(client, topic))


def numbers(spark: SparkSession, count: int, tasks: int = 2) -> DataFrame:
    return spark.range(count, numPartitions=tasks).selectExpr("cast(id as string) as value")


def expected(count: int) -> Counter[str]:
    return Counter(str(number) for number in range(count))


def write(frame: DataFrame, pulsar: LocalPulsar, topic: str, **options: str) -> None:
    writer = frame.write.format("pulsar").mode("append").option("service.url", pulsar.service_url)
    writer.option("topic", topic).option("deliveryGuarantee", "exactly-once").options(**options).save()


def test_a_job_stores_each_row_once(
    spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, admin: Admin, topic: str
) -> None:
    admin.create_partitioned(topic, 3)
    write(numbers(spark, 1000, 4), pulsar, topic)
    assert values(official, topic) == expected(1000)
    write(numbers(spark, 10), pulsar, topic)
    assert values(official, topic) == expected(1000) + expected(10)


def test_a_failed_job_stores_no_row(
    spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    bad = numbers(spark, 1000).selectExpr("if(value = '999', raise_error('bad row'), value) as value")
    with pytest.raises(Exception, match="bad row"):
        write(bad, pulsar, topic)
    # After an open transaction, readers would see no row.
    write(numbers(spark, 5), pulsar, topic)
    assert values(official, topic) == expected(5)


def send(official: official_client.Client, topic: str, first: int, count: int = 5) -> None:
    producer = official.create_producer(topic)
    for number in range(first, first + count):
        producer.send(str(number).encode())
    producer.close()


@pytest.fixture
def run_stream(
    spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> RunStream:
    """Return a function that sends five more numbers and runs the query from `{topic}-source` for one epoch."""
    sent = 0

    def run(target: str, checkpoint: Path, *, send_more: bool = True, **options: str) -> None:
        nonlocal sent
        if send_more:
            send(official, f"{topic}-source", sent)
            sent += 5
        source = spark.readStream.format("pulsar").option("service.url", pulsar.service_url)
        rows = source.option("topic", f"{topic}-source").option("startingOffsets", "earliest").load()
        writer = rows.selectExpr("cast(value as string) as value").writeStream.format("pulsar")
        writer = writer.option("service.url", pulsar.service_url).option("topic", target).options(**options)
        writer = writer.option("deliveryGuarantee", "exactly-once").trigger(availableNow=True)
        writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()

    return run


def forget(checkpoint: Path, *files: str) -> None:
    """Delete files of a checkpoint that Spark would not have written if it had died earlier."""
    for file in files:
        path = checkpoint / file
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def test_queries_with_equal_checkpoint_paths_have_journals_of_their_own(
    run_stream: RunStream, official: official_client.Client, topic: str, tmp_path: Path
) -> None:
    """Two pods have equal paths: one writes its epoch, another begins, and the first dies before Spark's
    commit log.
    """
    place, first, second = tmp_path / "checkpoint", f"{topic}-first", f"{topic}-second"
    run_stream(first, place)
    run_stream(first, place)
    place.rename(tmp_path / "of-the-first")
    run_stream(second, place, send_more=False)
    place.rename(tmp_path / "of-the-second")
    (tmp_path / "of-the-first").rename(place)
    forget(place, "commits/1")
    run_stream(first, place)
    assert values(official, first) == expected(15)
    assert values(official, second) == expected(10)


def test_a_new_checkpoint_at_the_same_path_needs_no_command(
    run_stream: RunStream, official: official_client.Client, topic: str, tmp_path: Path
) -> None:
    """The new checkpoint is another query; a change of the topic alone is an error."""
    run_stream(topic, tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "checkpoint")
    run_stream(topic, tmp_path / "checkpoint", send_more=False)
    with pytest.raises(Exception, match=r"is empty: .* or the query previously wrote to another topic"):
        run_stream(f"{topic}-other", tmp_path / "checkpoint")
    assert values(official, topic) == expected(5) + expected(5)


def test_a_named_journal_belongs_to_one_query(
    spark: SparkSession,
    pulsar: LocalPulsar,
    run_stream: RunStream,
    official: official_client.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    journal, first = {"transactionJournal": f"{topic}-journal"}, f"{topic}-first"
    run_stream(first, tmp_path / "first", **journal)
    run_stream(first, tmp_path / "first", **journal)
    query = json.loads((tmp_path / "first" / "metadata").read_text())["id"]
    with pytest.raises(
        Exception,
        match=f"JournalTaken: .*journal: expected .*, got the journal of streaming query {query} to",
    ):
        run_stream(f"{topic}-second", tmp_path / "second", send_more=False, **journal)
    with pytest.raises(
        Exception, match=f"got the journal of streaming query {query} to {first}, which is unchanged"
    ):
        write(numbers(spark, 3), pulsar, f"{topic}-second", **journal)
    # The same query writes to another topic.
    with pytest.raises(
        Exception, match=f"expected the journal of streaming query {query} to .*-second, got the journal"
    ):
        run_stream(f"{topic}-second", tmp_path / "first", **journal)
    forget(tmp_path / "first", "commits/1")
    run_stream(first, tmp_path / "first", send_more=False, **journal)
    assert values(official, first) == expected(15)
    assert values(official, f"{topic}-second") == expected(0)


def test_a_checkpoint_one_epoch_older_than_the_journal_is_refused(
    run_stream: RunStream, official: official_client.Client, topic: str, tmp_path: Path
) -> None:
    """Spark plans the epoch again, now with ten rows; five of them are written already."""
    run_stream(topic, tmp_path)
    run_stream(topic, tmp_path)
    forget(tmp_path, "commits/1", "offsets/1")
    with pytest.raises(
        Exception, match=r"RepeatedEpochDiffers: epoch 1: .*\(5 rows with .*, got other rows \(10 rows with"
    ):
        run_stream(topic, tmp_path)
    with pytest.raises(Exception, match=r"RepeatedEpochDiffers: .*\(5 rows.*, got other rows \(10 rows\)"):
        run_stream(topic, tmp_path, send_more=False, repeatedEpochCheck="count")
    assert values(official, topic) == expected(10)
    run_stream(topic, tmp_path, send_more=False, repeatedEpochCheck="none")
    run_stream(topic, tmp_path)
    assert values(official, topic) == expected(10) + Counter(str(number) for number in range(15, 20))


def test_a_job_is_committed_although_the_broker_freezes(
    spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    """Freeze the broker after the decision, for longer than a request may last. A job that reports failure
    would run again.
    """
    pid = pulsar.status().pid
    assert pid is not None
    frozen = threading.Event()

    def freeze(seen: SeenCommand) -> None:
        if seen.command == END_TXN and not frozen.is_set():
            frozen.set()
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(FROZEN_SECONDS, os.kill, (pid, signal.SIGCONT)).start()

    with Forwarder(pulsar.service_url, freeze) as forwarder:
        settings = {"service.url": forwarder.service_url, "pulsar.client.operationTimeoutMs": "10000"}
        write(numbers(spark, 100), pulsar, topic, **settings)
    assert frozen.is_set()
    assert values(official, topic) == expected(100)
