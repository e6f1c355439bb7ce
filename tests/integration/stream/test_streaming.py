"""Streaming: restarts that neither lose nor repeat rows, a start at `latest`, and the stream sink."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, await_true, messages_of
from integration.streams import (
    READ_SCHEMA,
    Sending,
    Stream,
    await_micro_batch,
    finish,
    has_first_batch,
    send_numbers,
    to_files,
    values_in,
)
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar.tools.standalone import LocalPulsar


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
            # The stop is at an arbitrary moment, most likely inside a micro-batch, which the restart then repeats.
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


def test_available_now_reads_the_messages_present_at_its_start(
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
        finish(query)  # A query would not end while it follows the producer.
        found = values_in(spark, tmp_path)
    assert len(found) > 100
    assert max(found.values()) == 1


def test_start_at_latest_reads_only_later_messages(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    producer = official.create_producer(topic, batching_enabled=True)
    for number in range(50):
        producer.send_async(str(number).encode(), callback=lambda *_: None)
    producer.flush()
    query = to_files(stream(topic=topic), tmp_path).start()
    try:
        await_true("the first micro-batch", has_first_batch(tmp_path / "checkpoint"))
        for number in range(50, 80):
            producer.send(str(number).encode())
        query.processAllAvailable()
    finally:
        query.stop()
    assert values_in(spark, tmp_path) == Counter(range(50, 80))


def test_offsets_are_readable_and_a_restart_does_not_resolve_its_start_again(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    send_numbers(official, topic, range(10))
    for starting in ("latest", "earliest"):
        finish(
            to_files(stream(topic=topic, startingOffsets=starting), tmp_path)
            .trigger(availableNow=True)
            .start()
        )
    offset = (tmp_path / "checkpoint" / "offsets" / "0").read_text(encoding="utf-8").splitlines()[-1]
    assert topic in offset
    assert not values_in(spark, tmp_path)


def test_batch_read_after_a_stream_sees_the_same_rows(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    send_numbers(official, topic, range(500))
    finish(
        to_files(stream(topic=topic, startingOffsets="earliest"), tmp_path).trigger(availableNow=True).start()
    )
    columns = ["value", "__key", "__messageId"]
    streamed = spark.read.schema(READ_SCHEMA).parquet(str(tmp_path / "rows")).select(columns)
    batch = read_topic(topic).select(columns)
    assert batch.exceptAll(streamed).count() == streamed.exceptAll(batch).count() == 0


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
