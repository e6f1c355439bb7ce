"""Splits: what one Spark task reads."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.message_id import Position
from pyspark_pulsar.topic import TopicPartition


@dataclass(frozen=True, slots=True)
class Split:
    """The messages of one topic partition from `start` (inclusive) to `end` (exclusive). Picklable."""

    partition: TopicPartition
    start: Position
    end: Position
