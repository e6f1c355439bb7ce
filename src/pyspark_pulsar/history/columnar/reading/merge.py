"""Rows of data files in the order of positions. Executor only.

Files of ours are in that order, and their positions do not overlap: their row groups are read one after the other.
Other engines may have rewritten them. Then a file holds several topic partitions, or the same ledger is in several
files, or rows are in any order. A table with sort columns, or with partitions by other columns than times, is like
that from the start. All of it is read by one rule, a merge of runs:

    run       a row group whose rows are in the order of positions, or were sorted in memory
    frontier  the least of the last positions that the open runs hold: all up to it can be given

    1. Runs that begin before the frontier are opened.
    2. All rows up to the frontier are given, sorted if they come from several runs.
    3. Each run goes on with its next batch.

What is held at once is a batch of rows for each open run. A row group whose positions do not grow is held whole: it
has 262,144 rows if it is ours, and what another engine chose if it is not.
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
"""The rows of a row group with the columns that are wanted, and those of `row_groups.IDENTITY` and `PARTITION`."""


def merged(groups: Iterable[RowGroup], wanted: RowRange, read: Read) -> Iterator[pa.RecordBatch]:
    """The rows of the range, in order; no batch is empty. Raises what `read` raises."""
    waiting = [(group.first, number, group) for number, group in enumerate(groups)]
    heapq.heapify(waiting)
    runs: list[_SortedRun] = []
    while waiting or runs:
        frontier = min((run.last for run in runs), default=None)
        while waiting and (frontier is None or waiting[0][0] <= frontier):
            run = _SortedRun(_in_range(waiting[0][2], wanted, read))
            heapq.heappop(waiting)
            if run.held is not None:
                runs.append(run)
                frontier = run.last if frontier is None else min(frontier, run.last)
        if frontier is not None:
            parts = [part for run in runs if (part := run.take(frontier)) is not None]
            yield from parts if len(parts) == 1 else in_order(parts)
            runs = [run for run in runs if run.held is not None]


class _SortedRun:
    """A sorted run of a merge: rows in the order of positions, read a batch at a time."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.held: pa.RecordBatch | None = next(batches, None)
        """The next rows; None where there are no more."""

    @property
    def last(self) -> Position:
        """Of the last row that is held."""
        if self.held is None:
            raise ValueError("expected a run that is not at its end")
        return position_at(self.held, self.held.num_rows - 1)

    def take(self, frontier: Position) -> pa.RecordBatch | None:
        """What is held up to the frontier, inclusive; the next batch is held when nothing is left."""
        if self.held is None:
            return None
        held, count = self.held, rows_before(self.held, _behind(frontier))
        self.held = held.slice(count) if count < held.num_rows else next(self._batches, None)
        return held.slice(0, count) if count else None


def _in_range(group: RowGroup, wanted: RowRange, read: Read) -> Iterator[pa.RecordBatch]:
    """The rows of a row group that are of the range, in order; no batch is empty."""
    batches = (_of_partition(batch, wanted.partition) for batch in read(group))
    ordered = batches if group.file.is_ordered else iter(in_order(list(batches)))
    for batch in ordered:
        start, end = rows_before(batch, wanted.start), rows_before(batch, wanted.end)
        if start < end:
            yield batch.slice(start, end - start)


def _of_partition(batch: pa.RecordBatch, partition: int) -> pa.RecordBatch:
    return batch.filter(pc.equal(batch.column(PARTITION), partition))


def in_order(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """All the rows, sorted by position, in batches that are not empty."""
    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return []
    table = pa.Table.from_batches(filled)
    keys = pa.table({name: pc.struct_field(table[IDENTITY], name) for name in _KEYS})
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in _KEYS])
    most = max(batch.num_rows for batch in filled)
    return list(table.take(order).to_batches(most))


def rows_before(batch: pa.RecordBatch, end: Position) -> int:
    """How many rows lie before a position; the rows are in order. By bisection."""
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
    """Of the message in that row."""
    identity = batch.column(IDENTITY)
    ledger, entry, index = (identity.field(name)[row].as_py() for name in _KEYS)
    return Position(ledger, entry, max(index, 0))


def _behind(position: Position) -> Position:
    return Position(position.ledger, position.entry, position.batch_index + 1)
