"""What is known of a data file without opening it. Made on the driver from what the table says, pickled to executors.

A file of ours holds rows of one topic partition, in the order of positions. Other engines that rewrite files may put
rows of several topic partitions into one, in any order, and may leave bounds out; so nothing here is more than a
bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow

Bounds = tuple[int, int]
"""The least and the largest value, both inclusive."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file of a table."""

    url: str
    size: int
    """Bytes."""
    rows: int
    partitions: Bounds | None = None
    """Of `__partition`; -1 for a topic without partitions. None, here and below: nobody tells."""
    ledgers: Bounds | None = None
    entries: Bounds | None = None
    """Of all ledgers together; within one they tell where the file begins and ends."""
    published: Bounds | None = None
    """Publish times, in Unix milliseconds."""
    event_from: int | None = None
    """The least event time, in Unix milliseconds, of the rows that have one."""
    columns: frozenset[int] | None = None
    """Ids of the leaf columns that the file has; None where files are read by the names of columns."""
    has_payloads: bool | None = None
    """Whether there are rows that keep the payload of their message (`layout.PAYLOAD_COLUMN`)."""
    tiered_by: Bounds | None = None
    """The least and the largest id of the schemas that tiered the rows (`layout.TIERED_BY`)."""
    key: tuple[Any, ...] = ()
    """The table's partition that it is in: values as the format has them."""
    deletes: tuple[str, ...] = ()
    """Files that name rows of this one, by their number, which count as deleted."""
    constants: tuple[tuple[str, Any], ...] = ()
    """The table's columns that have the same value in all rows, and which the file therefore does not hold."""

    @property
    def first(self) -> Position:
        """Not behind its first row; `EARLIEST` where nobody tells."""
        if self.ledgers is None:
            return EARLIEST
        entry = self.entries[0] if self.entries and self.ledgers[0] == self.ledgers[1] else 0
        return Position(self.ledgers[0], entry)

    @property
    def last(self) -> Position | None:
        """Not before the entry of its last row; None where nobody tells."""
        if self.ledgers is None:
            return None
        if self.entries is None:
            return Position(self.ledgers[1] + 1, 0)
        return Position(self.ledgers[1], self.entries[1])

    def may_hold(self, partition: int, start: Position, end: Position) -> bool:
        """Whether it may have rows of that partition in the range from `start` (inclusive) to `end` (exclusive)."""
        if self.partitions is not None and not self.partitions[0] <= partition <= self.partitions[1]:
            return False
        last = self.last
        return self.first < end and (last is None or start <= Position(last.ledger, last.entry + 1))

    def share(self, start: Position, end: Position) -> float:
        """About which part of its rows lies in the range, from 0 to 1, by its entries; 1 where it is not known."""
        last = self.last
        if last is None or self.first.ledger != last.ledger:
            return 1.0
        first = max(self.first, start).entry if start.ledger <= last.ledger else last.entry + 1
        behind = last.entry + 1
        if end.ledger == last.ledger:
            behind = min(behind, end.entry + (end.batch_index > 0))
        elif end.ledger < last.ledger:
            behind = first
        return max(0, behind - first) / (last.entry + 1 - self.first.entry)

    def may_be_in(self, window: TimeWindow) -> bool:
        """Whether it may have rows of that time."""
        if self.published is not None:
            least, largest = self.published
            if window.published_from is not None and largest < window.published_from:
                return False
            if window.published_before is not None and least >= window.published_before:
                return False
        # Rows without an event time are wanted too, and nobody tells whether there are any.
        return True


def overlapping(files: Iterable[DataFile]) -> list[Sequence[DataFile]]:
    """The files in groups: positions of two groups do not overlap, and groups are in the order of positions."""
    groups: list[list[DataFile]] = []
    reached: Position | None = EARLIEST
    for file in sorted(files, key=lambda file: file.first):
        if not groups or (reached is not None and file.first > reached):
            groups.append([])
            reached = EARLIEST
        groups[-1].append(file)
        reached = None if reached is None or file.last is None else max(reached, file.last)
    return [tuple(group) for group in groups]
