"""The entries and the approximate bytes in each range of a planned split. This module runs on the driver only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark_pulsar.read.batch.batch_plan import BatchPlan
from pyspark_pulsar.read.location import EntryLocation, FilePart, LedgerPart, RowLocation
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.split import Split, SplitRange


@dataclass(frozen=True, slots=True)
class PlannedRange:
    """A range of a split, and the parts of ledgers or data files in this range.

    Attributes:
        parts: The parts of ledgers; None if the ledgers are unknown, or if the rows are in a table.
        copy: The URL of the ledger's copy in tiered storage, or of the table's first data file. None if no URL is
            known.
        file_part: The part of a table's data files; None if the rows are not in a table.

    """

    split_range: SplitRange
    parts: tuple[LedgerPart, ...] | None
    copy: str | None = None
    file_part: FilePart | None = None

    @property
    def entries(self) -> int | None:
        return None if self.parts is None else sum(part.entries for part in self.parts)

    @property
    def size(self) -> int | None:
        if self.file_part is not None:
            return self.file_part.size
        return None if self.parts is None else sum(part.size for part in self.parts)

    @property
    def rows(self) -> int | None:
        """Return the number of rows in a table's data files, or None if the range has ledgers."""
        return None if self.file_part is None else self.file_part.rows


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """A split of a plan.

    Attributes:
        number: The number of the split in the plan. Numbers start at 0 and continue across all topic partitions.
        task: The number of the Spark task that reads the split. Numbers start at 0. A task can read several splits.
        ranges: The ranges of the split.

    """

    number: int
    task: int
    split: Split
    ranges: tuple[PlannedRange, ...]

    @property
    def readers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(planned.split_range.location.name for planned in self.ranges))

    @property
    def entries(self) -> int | None:
        """Return the number of ledger entries, or None if the number is unknown or all rows are in a table."""
        return _sum([planned.entries for planned in self.ranges if planned.file_part is None])

    @property
    def rows(self) -> int | None:
        """Return the approximate number of rows from a table, or None if the split reads no table."""
        return _sum([planned.rows for planned in self.ranges if planned.file_part is not None])

    @property
    def size(self) -> int | None:
        return _sum([planned.size for planned in self.ranges])


def planned_splits(plan: BatchPlan) -> list[PlannedSplit]:
    """Return the splits of a plan, in the order of the plan."""
    splits = (
        (partition_plan, split) for partition_plan in plan.partitions for split in partition_plan.splits
    )
    # The tasks of a plan contain the splits in the same order.
    tasks = [task for task, of_task in enumerate(plan.tasks) for _ in of_task]
    return [
        PlannedSplit(
            number,
            task,
            split,
            tuple(_planned_range(partition_plan, split_range) for split_range in split.ranges),
        )
        for number, (task, (partition_plan, split)) in enumerate(zip(tasks, splits, strict=True))
    ]


def _planned_range(plan: PartitionPlan, split_range: SplitRange) -> PlannedRange:
    location, start, end = split_range.location, split_range.start, split_range.end
    url, parts, file_part = location.copy_url(plan.partition), None, None
    if isinstance(location, RowLocation):
        file_part = location.file_part(start, end)
    elif isinstance(location, EntryLocation):
        ledgers = None if plan.ledgers is None else plan.ledgers.ledgers
        parts = location.ledger_parts(ledgers, start, end)
    return PlannedRange(split_range, parts, url, file_part)


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None
