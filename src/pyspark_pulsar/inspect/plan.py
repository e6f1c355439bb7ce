"""A plan in numbers: which entries each range of a split touches, and about how many bytes these are. Driver only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark_pulsar.read.batch.plan import BatchPlan
from pyspark_pulsar.read.location import LedgerPart
from pyspark_pulsar.read.planning.planner import PartitionPlan
from pyspark_pulsar.read.split import Split, SplitRange


@dataclass(frozen=True, slots=True)
class PlannedRange:
    """A range and what it touches; `parts` None where the ledgers are not known."""

    split_range: SplitRange
    parts: tuple[LedgerPart, ...] | None
    copy: str | None = None
    """Where the copy in tiered storage lies that it is read from."""

    @property
    def entries(self) -> int | None:
        return None if self.parts is None else sum(part.entries for part in self.parts)

    @property
    def size(self) -> int | None:
        return None if self.parts is None else sum(part.size for part in self.parts)


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """One task. `number` counts from 0 over all topic partitions, as Spark numbers its tasks."""

    number: int
    split: Split
    ranges: tuple[PlannedRange, ...]

    @property
    def readers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(planned.split_range.location.name for planned in self.ranges))

    @property
    def entries(self) -> int | None:
        return _sum([planned.entries for planned in self.ranges])

    @property
    def size(self) -> int | None:
        return _sum([planned.size for planned in self.ranges])


def planned_splits(plan: BatchPlan) -> list[PlannedSplit]:
    """In the order of the plan."""
    splits = (
        (partition_plan, split) for partition_plan in plan.partitions for split in partition_plan.splits
    )
    return [
        PlannedSplit(
            number, split, tuple(_planned_range(partition_plan, split_range) for split_range in split.ranges)
        )
        for number, (partition_plan, split) in enumerate(splits)
    ]


def _planned_range(plan: PartitionPlan, split_range: SplitRange) -> PlannedRange:
    location = split_range.location
    ledgers = None if plan.ledgers is None else plan.ledgers.ledgers
    parts = location.ledger_parts(ledgers, split_range.start, split_range.end)
    return PlannedRange(split_range, parts, location.copy_url(plan.partition))


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
