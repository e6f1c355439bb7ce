"""The row groups of data files that may hold rows of a range, and where each lies. Executor only.

Statistics give the least and the largest ledger and entry of a row group. They tell its first and last row exactly
where all is of one ledger, and else bounds.
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
    """-1 for a topic without partitions."""
    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file whose footer has been read."""

    file: DataFile
    parquet: pq.ParquetFile
    offsets: tuple[int, ...]
    """The number of the first row of each row group."""
    is_ordered: bool
    deleted: pa.Array | None
    """Numbers of the rows that count as deleted."""

    @classmethod
    def open(cls, storage: TableStorage, file: DataFile, opened: ExitStack) -> OpenFile:
        """Closed with `opened`. Raises `OSError`, `pa.ArrowException`."""
        source = opened.enter_context(storage.open_input(file.url))
        parquet = opened.enter_context(pq.ParquetFile(source, pre_buffer=True))
        offsets, number = [], 0
        for index in range(parquet.num_row_groups):
            offsets.append(number)
            number += parquet.metadata.row_group(index).num_rows
        told = parquet.metadata.metadata or {}
        is_ordered = told.get(ORDER_KEY) == BY_POSITION
        return cls(file, parquet, tuple(offsets), is_ordered, _deleted(storage, file))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group that may hold rows of a range."""

    file: OpenFile
    index: int
    first: Position
    """Not behind its first row."""
    last: Position | None
    """Not before the entry of its last row; None where nobody tells."""
    is_within: bool
    """Whether all of its rows are of the range."""
    keeps_payloads: bool
    """Whether some row may keep the payload of its message."""
    tiered_by: Bounds | None
    """The least and the largest id of the schemas that tiered its rows; None where the footer does not tell."""

    @property
    def rows(self) -> int:
        return int(self.file.parquet.metadata.row_group(self.index).num_rows)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Its rows without those that are deleted, with these columns of the file, in the file's order."""
        number = self.file.offsets[self.index]
        batches = self.file.parquet.iter_batches(
            batch_rows, row_groups=[self.index], columns=list(columns), use_threads=False
        )
        for batch in batches:
            yield _without(batch, self.file.deleted, number)
            number += batch.num_rows


def row_groups(file: OpenFile, wanted: RowRange) -> Iterator[RowGroup]:
    """Those of a file, in its order."""
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
        if bound.may_hold(wanted.partition, wanted.start, wanted.end):
            is_within = (
                partitions == (wanted.partition, wanted.partition)
                and bound.last is not None
                and wanted.start <= bound.first
                and Position(bound.last.ledger, bound.last.entry + 1) <= wanted.end
            )
            keeps_payloads = _has_values(metadata.row_group(index), leaves.get(PAYLOAD_COLUMN))
            tiered_by = _bounds_of_all(metadata.row_group(index), leaves.get(TIERED_BY))
            yield RowGroup(file, index, bound.first, bound.last, is_within, keeps_payloads, tiered_by)


def apart(groups: Sequence[RowGroup]) -> list[list[RowGroup]]:
    """In the order of positions, those together whose positions overlap. Row groups of one ordered file that meet
    within an entry are apart."""
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


def _follows(cluster: Sequence[RowGroup], reached: Position | None, group: RowGroup) -> bool:
    if reached is None:
        return False
    before = cluster[-1]
    meet = (
        len(cluster) == 1
        and before.file is group.file
        and group.file.is_ordered
        and before.index < group.index
        and reached == group.first
    )
    return reached < group.first or meet


def _has_values(group: Any, leaf: int | None) -> bool:
    """Return whether some row may have a value in the column `leaf`; None is a column that the file lacks."""
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
    """Return the bounds of a column that has a value in each row; None where the footer does not tell that."""
    bounds = _bounds(group, leaf)
    if bounds is None or not group.column(leaf).statistics.has_null_count:
        return None
    return None if group.column(leaf).statistics.null_count else bounds


def _deleted(storage: TableStorage, file: DataFile) -> pa.Array | None:
    """By positional delete files of the Iceberg specification: columns `file_path` and `pos`."""
    if not file.deletes:
        return None
    numbers: list[pa.Array] = []
    for url in file.deletes:
        with storage.open_input(url) as source:
            table = pq.read_table(source, columns=["file_path", "pos"])
        numbers += table.filter(pc.equal(table["file_path"], file.url))["pos"].chunks
    return pc.unique(pa.chunked_array(numbers, pa.int64()))


def _without(batch: pa.RecordBatch, deleted: pa.Array | None, number: int) -> pa.RecordBatch:
    """`number`: of its first row."""
    if deleted is None or not len(deleted):
        return batch
    rows = pa.array(range(number, number + batch.num_rows), pa.int64())
    return batch.filter(pc.invert(pc.is_in(rows, value_set=deleted)))
