"""The part of a topic partition's range that is in its table, and how the part is cut. Driver only; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark_pulsar.history.columnar.data_file import DataFile, overlapping
from pyspark_pulsar.history.columnar.reading.request import TableRows
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.sources.columns import FromColumns


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range from `start` (inclusive) to `end` (exclusive). All its rows are in the files of `location`."""

    start: Position
    end: Position
    location: FromColumns

    @property
    def entries(self) -> int:
        """The maximum number of parts: one for each entry, or 1 if the files have entries of several ledgers."""
        first, last = self._bounds
        return 1 if first.ledger != last.ledger else max(1, last.entry - first.entry + 1)

    @property
    def sized_location(self) -> FromColumns:
        """The location. A location of rows needs no number of entries."""
        return self.location

    @property
    def entry_bytes(self) -> float:
        """The mean size of an entry in the files, in bytes."""
        return sum(file.size for file in self.location.files) / self.entries

    @property
    def entry_rows(self) -> float:
        """The mean number of rows per entry."""
        return sum(file.rows for file in self.location.files) / self.entries

    def cut(self, parts: int) -> list[FileRange]:
        """Cut the range into at most `parts` ranges with about the same number of entries."""
        first, parts = self._bounds[0], max(1, min(parts, self.entries))
        borders = [
            Position(first.ledger, first.entry + self.entries * index // parts) for index in range(1, parts)
        ]
        return [
            replace(self, start=start, end=end)
            for start, end in zip([self.start, *borders], [*borders, self.end], strict=True)
        ]

    @property
    def _bounds(self) -> tuple[Position, Position]:
        """The first and last entry that the files can have in the range.

        If the last entry is unknown, the two positions are in different ledgers.
        """
        lasts = [file.last for file in self.location.files]
        if not lasts or None in lasts:
            return EARLIEST, self.end
        first = max(self.start, min(file.first for file in self.location.files))
        last = max(last for last in lasts if last is not None)
        before = Position(self.end.ledger, self.end.entry - (self.end.batch_index == 0))
        return first, min(last, before)


def file_ranges(
    table: TableRows,
    partition: TopicPartition,
    files: Iterable[DataFile],
    start: Position,
    end: Position,
    window: TimeWindow,
) -> list[FileRange]:
    """Return the range in parts, in order, without gap or overlap.

    `files` are the files of the table. Files without a row in the window are not read.
    """
    if start >= end:
        return []
    chosen = [file for file in files if file.may_hold(partition.index, start, end) and file.may_be_in(window)]
    groups = overlapping(chosen)
    if not groups:
        return [FileRange(start, end, FromColumns(table, ()))]
    borders = [start, *(_first(group) for group in groups[1:]), end]
    return [
        FileRange(begin, after, FromColumns(table.of_files(group), tuple(group)))
        for begin, after, group in zip(borders, borders[1:], groups, strict=False)
    ]


def _first(group: Sequence[DataFile]) -> Position:
    return min(file.first for file in group)
