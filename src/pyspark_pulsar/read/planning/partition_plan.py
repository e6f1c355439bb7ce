"""The result of a planner for one topic partition. Driver only."""

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
    """The plan of one topic partition: its range after narrowing by time, and the splits of this range in order."""

    partition: TopicPartition
    start: Position
    end: Position
    ledgers: TopicLedgers | None
    """The ledgers of the topic partition; None if the ledgers are unknown, or if nothing of the partition is read."""
    splits: tuple[Split, ...]


def with_ledgers(admin: AdminClient, plans: Iterable[PartitionPlan]) -> list[PartitionPlan]:
    """Return the plans with the ledgers of all topic partitions that are read, to show the ledgers to a user.

    If this role may not list ledgers, the plans are not changed. Other errors of `AdminClient` are raised.
    """
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
    """Return all splits, in the order of topic partitions and positions."""
    return [split for plan in plans for split in plan.splits]
