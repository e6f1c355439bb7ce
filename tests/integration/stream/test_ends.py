"""Streams with an end: the rows that they read, and their stop at the end."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pulsar as official_client
import pytest
from integration.official import Admin
from integration.streams import Stream, finish, send_numbers, to_files, values_in
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import pyspark_pulsar


@pytest.fixture
def stopping(spark: SparkSession) -> Iterator[None]:
    """Make the session's queries stop at their ends."""
    listener = pyspark_pulsar.stop_at_end(spark)
    yield
    spark.streams.removeListener(listener)


def await_end(query: StreamingQuery) -> None:
    try:
        assert query.awaitTermination(90), query.lastProgress
        assert query.exception() is None
    finally:
        query.stop()


def numbers_at(client: official_client.Client, topic: str, numbers: range) -> list[str]:
    """Send one entry for each number, and return their positions."""
    producer = client.create_producer(topic, batching_enabled=False)
    ids = [producer.send(str(number).encode()) for number in numbers]
    producer.close()
    return [f"{each.ledger_id()}:{each.entry_id()}" for each in ids]


@pytest.mark.usefixtures("stopping")
def test_a_stream_stops_when_all_partitions_are_at_their_ends(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
) -> None:
    admin.create_partitioned(topic, 2)
    names = [f"{topic}-partition-{index}" for index in range(2)]
    ledger, entry = numbers_at(official, names[0], range(10))[-1].split(":")
    second = numbers_at(official, names[1], range(100, 110))[5]
    ends = json.dumps({names[0]: f"{ledger}:{int(entry) + 3}", names[1]: second})
    frame = stream(topic=topic, startingOffsets="earliest", endingOffsets=ends)
    query = to_files(frame, tmp_path).start()
    try:
        query.processAllAvailable()
        assert query.isActive
        assert values_in(spark, tmp_path) == Counter([*range(10), *range(100, 105)])
        numbers_at(official, names[0], range(10, 20))
    finally:
        await_end(query)
    assert values_in(spark, tmp_path) == Counter([*range(12), *range(100, 105)])


@pytest.mark.usefixtures("stopping")
def test_a_restarted_stream_stops_at_its_end_or_continues_to_a_later_end(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    numbers_at(official, topic, range(5))
    frame = stream(topic=topic, startingOffsets="earliest", endingOffsets="latest")
    for _ in range(2):
        await_end(to_files(frame, tmp_path).start())
        assert values_in(spark, tmp_path) == Counter(range(5))
    numbers_at(official, topic, range(5, 8))
    await_end(to_files(frame, tmp_path).start())
    assert values_in(spark, tmp_path) == Counter(range(8))


@pytest.mark.usefixtures("stopping")
def test_a_stream_ends_at_a_time(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    numbers_at(official, topic, range(5))
    time.sleep(0.01)
    until = str(int(time.time() * 1000))
    time.sleep(0.01)
    numbers_at(official, topic, range(5, 10))
    frame = stream(topic=topic, startingOffsets="earliest", endingTimestamp=until, clockSlackMs="1000")
    await_end(to_files(frame, tmp_path).start())
    assert values_in(spark, tmp_path) == Counter(range(5))


@pytest.mark.usefixtures("stopping")
def test_a_stream_stops_at_an_event_time(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    producer = official.create_producer(topic, batching_enabled=True, batching_max_messages=3)
    events = [50, 10, None, 99, 100, 5, 200]
    for number, event in enumerate(events):
        producer.send_async(str(number).encode(), callback=lambda *_: None, event_timestamp=event)
    producer.flush()
    producer.close()
    for until, expected in (("100", 4), ("150", 6)):
        frame = stream(topic=topic, startingOffsets="earliest", endingEventTime=until)
        await_end(to_files(frame, tmp_path).start())
        assert values_in(spark, tmp_path) == Counter(range(expected))


def test_available_now_stops_at_the_end_option_or_at_the_last_message(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    positions = numbers_at(official, topic, range(10))
    for end, expected in ((positions[4], 4), (positions[9], 9)):
        frame = stream(topic=topic, startingOffsets="earliest", endingOffsets=json.dumps({topic: end}))
        finish(to_files(frame, tmp_path).trigger(availableNow=True).start())
        assert values_in(spark, tmp_path) == Counter(range(expected))
    send_numbers(official, topic, range(10, 12))
    finish(to_files(stream(topic=topic), tmp_path).trigger(availableNow=True).start())
    assert values_in(spark, tmp_path) == Counter(range(12))


def test_an_end_that_names_other_partitions_is_refused(
    topic: str, tmp_path: Path, stream: Stream, official: official_client.Client
) -> None:
    numbers_at(official, topic, range(1))
    frame = stream(topic=topic, startingOffsets="earliest", endingOffsets='{"other": "1:0"}')
    query = to_files(frame, tmp_path).start()
    with pytest.raises(Exception, match=r"OptionError.*endingOffsets"):
        query.awaitTermination(60)
