"""The facts about a data file that are known without opening the file.

The driver creates these facts from the table's metadata and sends them to executors by pickle. A file that this package
wrote contains rows of one topic partition, in the order of positions. Other engines can rewrite files. A rewritten file
can contain rows of several topic partitions, in any order, and can lack statistics. So each fact is only a bound: the
rows can have a smaller range of values than the fact states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow

Bounds = tuple[int, int]
"""A pair of the smallest and the largest value, both inclusive."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table. An attribute is None if the table does not record the fact."""

    url: str
    size: int
    """The size of the file in bytes."""
    rows: int
    partitions: Bounds | None = None
    """The bounds of the column `__partition`. The column is `-1` in the table of a topic without partitions."""
    ledgers: Bounds | None = None
    entries: Bounds | None = None
    """The bounds of the entry ids in all ledgers of the file.

    If all rows belong to one ledger, the bounds are the entry ids of the first and the last row.
    """
    published: Bounds | None = None
    """The bounds of publish times, in Unix milliseconds."""
    event_from: int | None = None
    """The smallest event time, in Unix milliseconds. Rows without an event time are ignored."""
    columns: frozenset[int] | None = None
    """The field ids of the file's leaf columns. The value is None if the table's metadata has no field ids."""
    has_payloads: bool | None = None
    """True if some rows contain the payload of their message (`layout.PAYLOAD_COLUMN`)."""
    tiered_by: Bounds | None = None
    """The bounds of the ids of the schemas with which the rows were written (`layout.TIERED_BY`)."""
    key: tuple[Any, ...] = ()
    """The partition key of the file's rows. The table's format determines the form of the values."""
    deletes: tuple[str, ...] = ()
    """The URLs of files that list the row numbers of this file's deleted rows."""
    constants: tuple[tuple[str, Any], ...] = ()
    """The name and value of each table column that the file omits because all its rows have the same value."""

    @property
    def first(self) -> Position:
        """Return a position at or before the first row; `EARLIEST` if the table does not record ledgers."""
        if self.ledgers is None:
            return EARLIEST
        entry = self.entries[0] if self.entries and self.ledgers[0] == self.ledgers[1] else 0
        return Position(self.ledgers[0], entry)

    @property
    def last(self) -> Position | None:
        """Return a position at or after the entry of the last row; None if the table does not record ledgers."""
        if self.ledgers is None:
            return None
        if self.entries is None:
            return Position(self.ledgers[1] + 1, 0)
        return Position(self.ledgers[1], self.entries[1])

    def may_hold(self, partition: int, start: Position, end: Position) -> bool:
        """Return whether the file may have rows of a topic partition from `start` (inclusive) to `end` (exclusive)."""
        if self.partitions is not None and not self.partitions[0] <= partition <= self.partitions[1]:
            return False
        last = self.last
        return self.first < end and (last is None or start <= Position(last.ledger, last.entry + 1))

    def share(self, start: Position, end: Position) -> float:
        """Estimate from the entry ids which fraction of the file's rows is in a range of positions.

        Returns:
            A number from 0 to 1. The number is 1 if the fraction is unknown.

        """
        last = self.last
        if last is None or self.first.ledger != last.ledger:
            return 1.0
        first = max(self.first, start).entry if start.ledger <= last.ledger else last.entry + 1
        entry_end = last.entry + 1
        if end.ledger == last.ledger:
            entry_end = min(entry_end, end.entry + (end.batch_index > 0))
        elif end.ledger < last.ledger:
            entry_end = first
        return max(0, entry_end - first) / (last.entry + 1 - self.first.entry)

    def may_be_in(self, window: TimeWindow) -> bool:
        """Return whether the file may have rows in a time window."""
        if self.published is not None:
            least, largest = self.published
            if window.published_from is not None and largest < window.published_from:
                return False
            if window.published_before is not None and least >= window.published_before:
                return False
        # Event times cannot exclude the file. The window includes rows without an event time, and no statistic shows
        # whether the file has such rows.
        return True


def overlapping(files: Iterable[DataFile]) -> list[Sequence[DataFile]]:
    """Divide files into groups, so that files with overlapping ranges of positions are in the same group.

    Returns:
        The groups, in the order of positions. Files of different groups do not overlap.

    """
    groups: list[list[DataFile]] = []
    reached: Position | None = EARLIEST
    for file in sorted(files, key=lambda file: file.first):
        if not groups or (reached is not None and file.first > reached):
            groups.append([])
            reached = EARLIEST
        groups[-1].append(file)
        reached = None if reached is None or file.last is None else max(reached, file.last)
    return [tuple(group) for group in groups]
