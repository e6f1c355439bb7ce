"""What a planner answers. Driver only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark_pulsar.position import Position
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.topic import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """How one topic partition is read: the range left after narrowing by time, and its splits in order."""

    partition: TopicPartition
    start: Position
    end: Position
    ledgers: TopicLedgers | None
    """All that the topic partition has; None where they are not known, or nothing is asked of it."""
    splits: tuple[Split, ...]


def splits_of(plans: Iterable[PartitionPlan]) -> list[Split]:
    """All splits, in the order of topic partitions and positions."""
    return [split for plan in plans for split in plan.splits]
