"""A description of the content of topics' tables for users, by topic partition.

This module runs on the driver only, and does not open data files.
"""

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
    """The content of a table for one topic partition.

    If a file has rows of several topic partitions, `files`, `rows` and `size` of each of these topic partitions include
    the file.

    Attributes:
        end: The position (exclusive) up to which the topic partition is tiered.
        size: The total size of the files in bytes.
        published: The first and the last publish time, in Unix milliseconds; None if the times of a file are unknown.
        is_read: Whether the query would read rows of the table.
        skipped: The reason why the query would not read the table. None if the query would read the table, or if the
            query would fail.

    """

    partition: TopicPartition
    table: str
    end: Position
    files: int
    rows: int
    size: int
    published: Bounds | None
    is_read: bool
    skipped: str | None = None


def table_parts(
    options: ReadOptions,
    partitions: Iterable[TopicPartition],
    plans: Mapping[TopicPartition, PartitionPlan],
) -> tuple[TablePart, ...]:
    """Return the content of the topics' tables, in the order of topic partitions.

    The result is empty if the options do not use tables, or if the catalog is unavailable.

    Args:
        options: The options of the query.
        partitions: The topic partitions.
        plans: The plans of the topic partitions. A topic partition may have no plan.

    Raises:
        TierMismatch: A table belongs to another topic.

    """
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
    tiered, table = tables.positions_of(partition), tables.table(partition)
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
        None if is_read or plan is None else "outside of the requested range",
    )


def _published(files: Sequence[DataFile]) -> Bounds | None:
    bounds = [file.published for file in files if file.published is not None]
    if not bounds or len(bounds) < len(files):
        return None
    return min(first for first, _ in bounds), max(last for _, last in bounds)
