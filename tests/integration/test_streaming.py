"""Streaming: restarts neither lose nor repeat, a start at `latest`, topics that grow, and the stream sink."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, await_true, messages_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from pyspark_pulsar.standalone import LocalPulsar

READ_SCHEMA = (
    "value binary, __key binary, __messageId struct<ledger:bigint,entry:bigint,batchIndex:int,partition:int>"
)
Stream = Callable[..., DataFrame]


@pytest.fixture
def stream(spark: SparkSession, pulsar: LocalPulsar) -> Stream:
    """`stream(**options)`: a streaming DataFrame."""

    def read(**options: str) -> DataFrame:
        return (
            spark.readStream.format("pulsar")
            .option("service.url", pulsar.service_url)
            .options(**options)
            .load()
        )

    return read


class Sending:
    """Sends consecutive numbers in a thread until the block ends; half of them batched."""

    def __init__(self, client: official_client.Client, topic: str, rng: random.Random) -> None:
        self._producers = [
            client.create_producer(topic, batching_enabled=batched, batching_max_messages=20)
            for batched in (True, False)
        ]
        self._rng = rng
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.count = 0

    def _send(self) -> None:
        while not self._stop.is_set():
            producer = self._rng.choice(self._producers)
            for _ in range(self._rng.randrange(1, 60)):
                producer.send_async(
                    str(self.count).encode(), callback=lambda *_: None, partition_key=f"k{self.count % 7}"
                )
                self.count += 1
            producer.flush()
            self._stop.wait(0.05)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for producer in self._producers:
            producer.close()


def to_files(frame: DataFrame, folder: Path) -> DataStreamWriter:
    """Spark's file sink keeps each micro-batch once, so a repeated or lost row is the source's doing."""
    kept = frame.select("value", "__key", "__messageId")
    return (
        kept.writeStream.format("parquet")
        .option("path", str(folder / "rows"))
        .option("checkpointLocation", str(folder / "checkpoint"))
    )


def values_in(spark: SparkSession, folder: Path) -> Counter[int]:
    rows = spark.read.schema(READ_SCHEMA).parquet(str(folder / "rows")).select("value").collect()
    return Counter(int(bytes(row["value"])) for row in rows)


def await_micro_batch(query: StreamingQuery) -> None:
    await_true("a micro-batch", lambda: query.lastProgress is not None or not query.isActive)
    assert query.exception() is None


def finish(query: StreamingQuery, seconds: int = 60) -> None:
    assert query.awaitTermination(seconds), "Trigger.AvailableNow did not end"
    assert query.exception() is None


@pytest.mark.parametrize("partitions", [0, 3], ids=["plain", "partitioned"])
def test_restarts_while_a_producer_sends_neither_lose_nor_repeat(
    partitions: int,
    topic: str,
    rng: random.Random,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    if partitions:
        admin.create_partitioned(topic, partitions)
    with Sending(official, topic, rng) as sending:
        await_true("first messages", lambda: sending.count > 100)
        for trigger in ("available", "processing", "processing"):
            writer = to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path)
            if trigger == "available":
                finish(writer.trigger(availableNow=True).start())
                continue
            query = writer.trigger(processingTime="0 seconds").start()
            # Stop at an arbitrary moment, most likely inside a micro-batch, which the restart then repeats.
            stop_at = sending.count + rng.randrange(100, 1000)
            await_true("more messages", lambda at=stop_at: sending.count > at)
            await_micro_batch(query)
            query.stop()
            assert query.exception() is None
    finish(
        to_files(stream(topic=topic, startingOffsets="latest"), tmp_path).trigger(availableNow=True).start()
    )
    found = values_in(spark, tmp_path)
    assert found == Counter(range(sending.count))


def test_available_now_ends_at_what_was_there_when_it_began(
    topic: str,
    rng: random.Random,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
) -> None:
    with Sending(official, topic, rng) as sending:
        await_true("first messages", lambda: sending.count > 100)
        query = (
            to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path)
            .trigger(availableNow=True)
            .start()
        )
        finish(query)  # A query that chases the producer would not end.
        found = values_in(spark, tmp_path)
    assert len(found) > 100
    assert max(found.values()) == 1


def begun(checkpoint: Path) -> Callable[[], bool]:
    """Whether the first micro-batch is committed, so that the query's start is settled."""
    return (checkpoint / "commits" / "0").exists


def test_start_at_latest_reads_only_what_comes_later(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    producer = official.create_producer(topic, batching_enabled=True)
    for number in range(50):
        producer.send_async(str(number).encode(), callback=lambda *_: None)
    producer.flush()
    query = to_files(stream(topic=topic), tmp_path).start()
    try:
        await_true("the first micro-batch", begun(tmp_path / "checkpoint"))
        for number in range(50, 80):
            producer.send(str(number).encode())
        query.processAllAvailable()
    finally:
        query.stop()
    assert values_in(spark, tmp_path) == Counter(range(50, 80))


def test_partitions_added_to_a_running_stream_are_read(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create_partitioned(topic, 1)
    _send_numbers(official, f"{topic}-partition-0", range(10))
    query = to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path).start()
    try:
        query.processAllAvailable()
        admin.update_partitions(topic, 3)
        for index in range(3):
            _send_numbers(official, f"{topic}-partition-{index}", range(10 * index + 10, 10 * index + 20))
        query.processAllAvailable()
    finally:
        query.stop()
    assert values_in(spark, tmp_path) == Counter(range(40))


def test_new_topics_of_a_pattern_are_read_from_their_first_message(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    _send_numbers(official, f"{topic}-a", range(10))
    _send_numbers(official, f"{topic[:-1]}X-other", range(1000, 1010))
    query = to_files(stream(topicsPattern=f"{topic}-.*"), tmp_path).start()
    try:
        await_true("the first micro-batch", begun(tmp_path / "checkpoint"))
        _send_numbers(official, f"{topic}-b", range(20, 30))
        _send_numbers(official, f"{topic}-a", range(10, 20))
        query.processAllAvailable()
    finally:
        query.stop()
    # `latest` holds for the topic that was there; the new one belongs to the stream as a whole.
    assert values_in(spark, tmp_path) == Counter(range(10, 30))


def test_offsets_are_readable_and_a_restart_does_not_ask_for_a_start_again(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    _send_numbers(official, topic, range(10))
    for starting in ("latest", "earliest"):
        finish(
            to_files(stream(topic=topic, startingOffsets=starting), tmp_path)
            .trigger(availableNow=True)
            .start()
        )
    offset = (tmp_path / "checkpoint" / "offsets" / "0").read_text(encoding="utf-8").splitlines()[-1]
    assert topic in offset
    assert not values_in(spark, tmp_path)


def test_topic_made_again_is_read_from_its_first_message(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    _send_numbers(official, topic, range(10))
    finish(
        to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path).trigger(availableNow=True).start()
    )
    admin.delete(topic)
    admin.create(topic)
    _send_numbers(official, topic, range(10, 15))
    finish(to_files(stream(topic=topic), tmp_path).trigger(availableNow=True).start())
    assert values_in(spark, tmp_path) == Counter(range(15))


def test_stream_sink_stores_every_row_across_restarts(
    topic: str,
    rng: random.Random,
    tmp_path: Path,
    pulsar: LocalPulsar,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    target = f"{topic}-out"
    admin.create_partitioned(target, 2)

    def start(**trigger: Any) -> StreamingQuery:
        frame = stream(topic=topic, startingOffsets="earliest").select("value", "__key")
        writer = (
            frame.writeStream.format("pulsar")
            .option("service.url", pulsar.service_url)
            .option("topic", target)
        )
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(**trigger).start()

    with Sending(official, topic, rng) as sending:
        await_true("first messages", lambda: sending.count > 100)
        for _ in range(3):
            query = start(processingTime="0 seconds")
            stop_at = sending.count + rng.randrange(100, 700)
            await_true("more messages", lambda at=stop_at: sending.count > at)
            await_micro_batch(query)
            query.stop()
            assert query.exception() is None
    finish(start(availableNow=True))
    found = Counter(int(message.data()) for message in messages_of(official, target))
    assert found.keys() == set(range(sending.count))


def test_batch_read_after_a_stream_sees_the_same_rows(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    _send_numbers(official, topic, range(500))
    finish(
        to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path).trigger(availableNow=True).start()
    )
    columns = ["value", "__key", "__messageId"]
    streamed = spark.read.schema(READ_SCHEMA).parquet(str(tmp_path / "rows")).select(columns)
    batch = read_topic(topic).select(columns)
    assert batch.exceptAll(streamed).count() == streamed.exceptAll(batch).count() == 0


def _send_numbers(client: official_client.Client, topic: str, numbers: range) -> None:
    producer = client.create_producer(topic, batching_enabled=True, batching_max_messages=7)
    for number in numbers:
        producer.send_async(str(number).encode(), callback=lambda *_: None)
    producer.flush()
    producer.close()
