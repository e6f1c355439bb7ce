"""`waitingForNonExistedTopic`: reads that begin before their topics are there."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pulsar as official_client
import pytest
from integration.official import Refused
from integration.streams import Stream, send_numbers, to_files, values_in
from pulsar.schema import StringSchema
from pyspark.sql import SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.bounds import topic_wait
from pyspark_pulsar.tools.standalone import LocalPulsar

WAITING = {"waitingForNonExistedTopic": "true"}


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """`act` in a thread, soon after the block has begun."""
    timer = threading.Timer(2.0, act)
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.mark.parametrize("by", ["topics", "topicsPattern"])
def test_a_batch_waits_for_its_topics_and_their_schemas(
    by: str, topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    def send() -> None:
        for name in (f"{topic}-1", f"{topic}-2"):
            producer = official.create_producer(name, schema=StringSchema())
            producer.send("here")
            producer.close()

    asked = {"topics": f"{topic}-1,{topic}-2", "topicsPattern": f"{topic}-1"}[by]
    with meanwhile(send):
        reader = spark.read.format("pulsar").option("service.url", pulsar.service_url).options(**WAITING)
        frame = reader.option(by, asked).load()
    rows = frame.select("value").collect()
    assert [row["value"] for row in rows] == ["here"] * (2 if by == "topics" else 1)


def test_a_stream_waits_and_reads_from_the_first_message(
    topic: str, tmp_path: Path, spark: SparkSession, stream: Stream, official: official_client.Client
) -> None:
    with meanwhile(lambda: send_numbers(official, topic, range(10))):
        frame = stream(topic=topic, startingOffsets="earliest", **WAITING)
    query = to_files(frame, tmp_path).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert values_in(spark, tmp_path) == Counter(range(10))


def test_the_wait_has_an_end(topic: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused) -> None:
    reader = spark.read.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
    assert "does not exist" in refused(reader.load, "TopicNotFoundError")
    began = time.monotonic()
    text = refused(reader.options(**WAITING, pollTimeoutMs="1500").load, "TopicNotFoundError")
    assert time.monotonic() - began >= 1.5
    assert f"within pollTimeoutMs (1500 ms): expected topic {topic}" in text


def test_topics_that_are_there_are_not_waited_for(
    filled: str, pulsar: LocalPulsar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a schema either: bytes have none."""
    options = parse_options(ReadOptions, {"service.url": pulsar.service_url, "topic": filled, **WAITING})
    monkeypatch.setattr(topic_wait, "_await_schemas", None)
    with BrokerClient(options) as client:
        assert [str(topic) for topic in topic_wait.present_topics(client, options)] == [filled]
