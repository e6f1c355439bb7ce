"""The row groups of data files that may have rows of a range. Executor only.

The statistics of a row group contain the smallest and the largest ledger id and entry id. If all rows belong to one
ledger, these values are the positions of the first and the last row. If not, these values are only bounds of the
positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyspark_pulsar.history.columnar.data_file import Bounds, DataFile
from pyspark_pulsar.history.columnar.layout import (
    BY_POSITION,
    IDENTITY,
    ORDER_KEY,
    PARTITION,
    PAYLOAD_COLUMN,
    TIERED_BY,
)
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.model.position import Position


@dataclass(frozen=True, slots=True)
class RowRange:
    """The rows of one topic partition from `start` (inclusive) to `end` (exclusive)."""

    partition: int
    """The partition's index; -1 for a topic without partitions."""
    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file whose footer has been read."""

    file: DataFile
    parquet: pq.ParquetFile
    offsets: tuple[int, ...]
    """The row number, in the file, of the first row of each row group."""
    is_ordered: bool
    """True if the rows are in the order of positions (`layout.ORDER_KEY`)."""
    deleted: pa.Array | None
    """The row numbers of the deleted rows; None if the table does not list deleted rows of the file."""

    @classmethod
    def open(cls, storage: TableStorage, file: DataFile, opened: ExitStack) -> OpenFile:
        """Open a file. The exit stack `opened` closes the file.

        Raises:
            OSError: The file cannot be read.
            pa.ArrowException: The file is not a valid Parquet file.

        """
        source = opened.enter_context(storage.open_input(file.url))
        parquet = opened.enter_context(pq.ParquetFile(source, pre_buffer=True))
        offsets, number = [], 0
        for index in range(parquet.num_row_groups):
            offsets.append(number)
            number += parquet.metadata.row_group(index).num_rows
        footer_entries = parquet.metadata.metadata or {}
        is_ordered = footer_entries.get(ORDER_KEY) == BY_POSITION
        return cls(file, parquet, tuple(offsets), is_ordered, _read_deleted_rows(storage, file))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group that may have rows of a range."""

    file: OpenFile
    index: int
    first: Position
    """A position at or before the first row."""
    last: Position | None
    """A position at or after the entry of the last row; None if this position is unknown."""
    is_within: bool
    """True if all rows of the row group are certainly in the range."""
    keeps_payloads: bool
    """True if some row may contain the payload of its message."""
    tiered_by: Bounds | None
    """The bounds of the ids of the schemas with which the rows were written; None if the footer lacks these bounds."""

    @property
    def rows(self) -> int:
        return int(self.file.parquet.metadata.row_group(self.index).num_rows)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are not deleted, in the file's order, with the given columns of the file."""
        number = self.file.offsets[self.index]
        batches = self.file.parquet.iter_batches(
            batch_rows, row_groups=[self.index], columns=list(columns), use_threads=False
        )
        for batch in batches:
            yield _remove_deleted_rows(batch, self.file.deleted, number)
            number += batch.num_rows


def row_groups(file: OpenFile, row_range: RowRange) -> Iterator[RowGroup]:
    """Yield the row groups of a file that may have rows of the range, in the file's order."""
    metadata = file.parquet.metadata
    leaves = {metadata.schema.column(index).path: index for index in range(len(metadata.schema))}
    for index in range(metadata.num_row_groups):
        ledgers, entries, partitions = (
            _bounds(metadata.row_group(index), leaves.get(path))
            for path in (f"{IDENTITY}.ledger", f"{IDENTITY}.entry", PARTITION)
        )
        if PARTITION not in leaves:
            partitions = file.file.partitions
        bound = DataFile("", 0, 0, partitions, ledgers, entries)
        if bound.may_hold(row_range.partition, row_range.start, row_range.end):
            is_within = (
                partitions == (row_range.partition, row_range.partition)
                and bound.last is not None
                and row_range.start <= bound.first
                and Position(bound.last.ledger, bound.last.entry + 1) <= row_range.end
            )
            keeps_payloads = _has_values(metadata.row_group(index), leaves.get(PAYLOAD_COLUMN))
            tiered_by = _bounds_of_all(metadata.row_group(index), leaves.get(TIERED_BY))
            yield RowGroup(file, index, bound.first, bound.last, is_within, keeps_payloads, tiered_by)


def group_overlapping(groups: Sequence[RowGroup]) -> list[list[RowGroup]]:
    """Divide row groups into clusters, so that row groups with overlapping positions are in the same cluster.

    If two successive row groups of an ordered file overlap only in one entry, the two row groups are in separate
    clusters.

    Returns:
        The clusters in the order of positions.

    """
    clusters: list[list[RowGroup]] = []
    reached: Position | None = None
    for group in sorted(groups, key=lambda group: (group.first, group.index)):
        if clusters and not _follows(clusters[-1], reached, group):
            clusters[-1].append(group)
            reached = None if reached is None or group.last is None else max(reached, group.last)
        else:
            clusters.append([group])
            reached = group.last
    return clusters


def _follows(group_overlapping: Sequence[RowGroup], reached: Position | None, group: RowGroup) -> bool:
    if reached is None:
        return False
    before = group_overlapping[-1]
    share_an_entry = (
        len(group_overlapping) == 1
        and before.file is group.file
        and group.file.is_ordered
        and before.index < group.index
        and reached == group.first
    )
    return reached < group.first or share_an_entry


def _has_values(group: Any, leaf: int | None) -> bool:
    """Return whether some row may have a value in a column. The index `leaf` is None if the file lacks the column."""
    if leaf is None:
        return False
    statistics = group.column(leaf).statistics
    return statistics is None or not statistics.has_null_count or statistics.null_count < group.num_rows


def _bounds(group: Any, leaf: int | None) -> Bounds | None:
    if leaf is None:
        return None
    statistics = group.column(leaf).statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return int(statistics.min), int(statistics.max)


def _bounds_of_all(group: Any, leaf: int | None) -> Bounds | None:
    """Return the bounds of a column if the footer shows that each row has a value. Otherwise return None."""
    bounds = _bounds(group, leaf)
    if bounds is None or not group.column(leaf).statistics.has_null_count:
        return None
    return None if group.column(leaf).statistics.null_count else bounds


def _read_deleted_rows(storage: TableStorage, file: DataFile) -> pa.Array | None:
    """Return the row numbers of the deleted rows, or None if the file has no delete files.

    Format: position delete files of the Iceberg specification, with the columns `file_path` and `pos`.
    """
    if not file.deletes:
        return None
    numbers: list[pa.Array] = []
    for url in file.deletes:
        with storage.open_input(url) as source:
            table = pq.read_table(source, columns=["file_path", "pos"])
        numbers += table.filter(pc.equal(table["file_path"], file.url))["pos"].chunks
    return pc.unique(pa.chunked_array(numbers, pa.int64()))


def _remove_deleted_rows(batch: pa.RecordBatch, deleted: pa.Array | None, number: int) -> pa.RecordBatch:
    """Remove deleted rows from a batch. `number` is the row number, in the file, of the first row of the batch."""
    if deleted is None or not len(deleted):
        return batch
    rows = pa.array(range(number, number + batch.num_rows), pa.int64())
    return batch.filter(pc.invert(pc.is_in(rows, value_set=deleted)))
