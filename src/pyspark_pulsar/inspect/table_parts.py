"""What topics' tables hold of topic partitions, as a user sees it. Driver only; opens no data file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.data_file import Bounds, DataFile
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import RowLocation
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.planning.tables.known_tables import KnownTables, uses_tables


@dataclass(frozen=True, slots=True)
class TablePart:
    """Of one topic partition. A file with rows of several topic partitions counts for each."""

    partition: TopicPartition
    table: str
    end: Position
    """Up to where (exclusive) it is tiered."""
    files: int
    rows: int
    size: int
    """Bytes."""
    published: Bounds | None
    """The first and the last publish time, in Unix milliseconds; None where it is not known of each file."""
    is_read: bool
    """Whether the query would take rows of it."""
    skipped: str | None = None
    """Why it would not; None where the query itself would fail."""


def table_parts(
    options: ReadOptions,
    partitions: Iterable[TopicPartition],
    plans: Mapping[TopicPartition, PartitionPlan],
) -> tuple[TablePart, ...]:
    """In the order of topic partitions; none where the options let no read take rows of tables. `plans`: how they would
    be read, as far as it is known. Raises `TierMismatch`; a catalog that cannot be asked knows of nothing."""
    if not uses_tables(options):
        return ()
    partitions, tables = sorted(partitions), KnownTables(options)
    try:
        tables.refresh(partitions)
        parts = [_part(tables, partition, plans.get(partition)) for partition in partitions]
    except ColumnsUnavailable:
        return ()
    return tuple(part for part in parts if part is not None)


def _part(tables: KnownTables, partition: TopicPartition, plan: PartitionPlan | None) -> TablePart | None:
    tiered, table = tables.of(partition), tables.table(partition)
    if tiered is None or table is None:
        return None
    files = tables.files(partition)
    ranges = [] if plan is None else [split_range for split in plan.splits for split_range in split.ranges]
    is_read = any(isinstance(split_range.location, RowLocation) for split_range in ranges)
    return TablePart(
        partition,
        table.name,
        tiered.end,
        len(files),
        sum(file.rows for file in files),
        sum(file.size for file in files),
        _published(files),
        is_read,
        None if is_read or plan is None else "outside of what is asked for",
    )


def _published(files: Sequence[DataFile]) -> Bounds | None:
    bounds = [file.published for file in files if file.published is not None]
    if not bounds or len(bounds) < len(files):
        return None
    return min(first for first, _ in bounds), max(last for _, last in bounds)
