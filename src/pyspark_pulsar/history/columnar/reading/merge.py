"""A merge of rows of data files into the order of positions. Executor only.

The rows of files that this package writes are usually in this order, and the files do not overlap. The row groups of
such files are read one after the other. Other engines can rewrite the files. Then one file can contain several topic
partitions, several files can contain the same ledger, and rows can be in any order. Files also overlap if the table has
sort columns, or if a partition field is not a time. The merge handles all these files with two concepts:

    run       a row group whose rows are in the order of positions, or were sorted in memory
    frontier  each open run has one batch in memory; the frontier is the smallest of the last positions of these
              batches. All rows up to the frontier are in memory and can be returned.

The steps are repeated until no rows are left:

    1. Open the runs that begin at or before the frontier.
    2. Return all rows up to the frontier (inclusive). Rows of several runs are sorted together.
    3. Read the next batch of each run whose batch is completely returned.

The merge keeps one batch of each open run in memory. A row group whose positions are not in order is in memory
completely. A row group that this package writes has at most 262,144 rows. Other engines choose other sizes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar.history.columnar.layout import IDENTITY, PARTITION
from pyspark_pulsar.history.columnar.reading.row_groups import RowGroup, RowRange
from pyspark_pulsar.model.position import Position

_KEYS = ("ledger", "entry", "batchIndex")

Read = Callable[[RowGroup], Iterator[pa.RecordBatch]]
"""Reads the requested columns of a row group, and the columns `layout.IDENTITY` and `layout.PARTITION`."""


def merge_groups(groups: Iterable[RowGroup], row_range: RowRange, read: Read) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a range in the order of positions. No batch is empty. Raises the errors of `read`."""
    waiting = [(group.first, number, group) for number, group in enumerate(groups)]
    heapq.heapify(waiting)
    runs: list[_SortedRun] = []
    while waiting or runs:
        frontier = min((run.last for run in runs), default=None)
        while waiting and (frontier is None or waiting[0][0] <= frontier):
            run = _SortedRun(_in_range(waiting[0][2], row_range, read))
            heapq.heappop(waiting)
            if run.held is not None:
                runs.append(run)
                frontier = run.last if frontier is None else min(frontier, run.last)
        if frontier is not None:
            parts = [part for run in runs if (part := run.take(frontier)) is not None]
            yield from parts if len(parts) == 1 else sort_by_position(parts)
            runs = [run for run in runs if run.held is not None]


class _SortedRun:
    """A sequence of rows in the order of positions, read batch by batch."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.held: pa.RecordBatch | None = next(batches, None)
        """The next rows, or None at the end of the run."""

    @property
    def last(self) -> Position:
        """Return the position of the last row in `held`."""
        if self.held is None:
            raise ValueError("expected a run with further rows, got one at its end")
        return position_at(self.held, self.held.num_rows - 1)

    def take(self, frontier: Position) -> pa.RecordBatch | None:
        """Remove the rows up to the frontier (inclusive) from `held`, and return them, or None if there are none.

        If no row is left in `held`, the next batch is read.
        """
        if self.held is None:
            return None
        held, count = self.held, rows_before(self.held, _position_after(frontier))
        self.held = held.slice(count) if count < held.num_rows else next(self._batches, None)
        return held.slice(0, count) if count else None


def _in_range(group: RowGroup, row_range: RowRange, read: Read) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a row group that are in the range, in the order of positions. No batch is empty."""
    batches = (_filter_partition(batch, row_range.partition) for batch in read(group))
    ordered = batches if group.file.is_ordered else iter(sort_by_position(list(batches)))
    for batch in ordered:
        start, end = rows_before(batch, row_range.start), rows_before(batch, row_range.end)
        if start < end:
            yield batch.slice(start, end - start)


def _filter_partition(batch: pa.RecordBatch, partition: int) -> pa.RecordBatch:
    return batch.filter(pc.equal(batch.column(PARTITION), partition))


def sort_by_position(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Sort all rows by position. No returned batch is empty."""
    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return []
    table = pa.Table.from_batches(filled)
    keys = pa.table({name: pc.struct_field(table[IDENTITY], name) for name in _KEYS})
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in _KEYS])
    most = max(batch.num_rows for batch in filled)
    return list(table.take(order).to_batches(most))


def rows_before(batch: pa.RecordBatch, end: Position) -> int:
    """Return the number of rows before a position, by bisection. The rows must be in the order of positions."""
    low, high = 0, int(batch.num_rows)
    if high and position_at(batch, high - 1) < end:
        return high
    while low < high:
        middle = (low + high) // 2
        if position_at(batch, middle) < end:
            low = middle + 1
        else:
            high = middle
    return low


def position_at(batch: pa.RecordBatch, row: int) -> Position:
    """Return the position of the message in a row."""
    identity = batch.column(IDENTITY)
    ledger, entry, index = (identity.field(name)[row].as_py() for name in _KEYS)
    return Position(ledger, entry, max(index, 0))


def _position_after(position: Position) -> Position:
    return Position(position.ledger, position.entry, position.batch_index + 1)
