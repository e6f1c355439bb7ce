"""The summary of a batch read in Spark's plans."""

from __future__ import annotations

import pickle
from dataclasses import replace

from pyspark.sql.datasource import InputPartition

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.read.batch.summary import summary, summary_of
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.spark.frames import packed

TOPIC = TopicName.parse("persistent://public/default/orders")


def split(partition: int, start: Position, end: Position, size: int | None) -> Split:
    return Split(
        TopicPartition(TOPIC, partition), start, end, (SplitRange(start, end, FromBroker()),), size=size
    )


FIRST = split(0, EARLIEST, Position(3, 0), 100)
SECOND = split(0, Position(3, 0), Position(4, 7), 50)
OTHER = split(1, EARLIEST, Position(9, 9), 1)


def test_the_summary_contains_partitions_ranges_and_places() -> None:
    assert summary([(FIRST,), (SECOND, OTHER)]) == {
        "text": "2 partitions in 2 tasks: orders-partition-0 earliest to 4:7:0, orders-partition-1 earliest to 9:9:0; "
        "from broker 3",
        "bytes": 151,
        "places": "broker 3",
    }
    assert summary([])["text"] == "nothing to read"
    assert summary([])["bytes"] == 0
    many = summary([tuple(split(number, EARLIEST, Position(1, 1), 1) for number in range(5))])
    assert many["text"].startswith("5 partitions in 1 task: orders-partition-0 ")
    assert "2 more; from broker 5" in many["text"]


def test_an_unknown_size_is_none() -> None:
    assert summary([(FIRST, replace(SECOND, size=None))])["bytes"] is None


def test_partitions_from_the_jar_are_unpickled() -> None:
    sent = [pickle.dumps(InputPartition((FIRST,))), pickle.dumps(None)]
    assert summary_of(packed(sent)) == summary([(FIRST,)])
