"""What a planner answers. Driver only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_ledgers
from pyspark_pulsar.read.split import Split


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """How one topic partition is read: the range left after narrowing by time, and its splits in order."""

    partition: TopicPartition
    start: Position
    end: Position
    ledgers: TopicLedgers | None
    """All that the topic partition has; None where they are not known, or nothing is asked of it."""
    splits: tuple[Split, ...]


def with_ledgers(admin: AdminClient, plans: Iterable[PartitionPlan]) -> list[PartitionPlan]:
    """The same plans, for somebody who looks at them: with those ledgers too that nobody had to ask for, unless this
    role may not see them. Raises the other errors of `AdminClient`."""
    plans = list(plans)
    lacking = [
        plan.partition
        for plan in plans
        if plan.ledgers is None and plan.splits and not plan.partition.is_segment
    ]
    try:
        known = fetch_ledgers(admin, lacking) if lacking else {}
    except PermissionDenied:
        return plans
    return [replace(plan, ledgers=known.get(plan.partition, plan.ledgers)) for plan in plans]


def splits_of(plans: Iterable[PartitionPlan]) -> list[Split]:
    """All splits, in the order of topic partitions and positions."""
    return [split for plan in plans for split in plan.splits]
