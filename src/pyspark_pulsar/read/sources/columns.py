"""Rows of a topic's table, which contains its history as columns (`columnar`).

Tasks read the table without Pulsar's servers.

A table has rows and no entries, so nothing is decoded here. A range yields the rows of its entries, in the order of the
entries. If a data file cannot be read, the broker continues after the last returned row, but only if the ledgers still
exist. Rows of removed ledgers are only in the table. For such rows, the fault ends the query.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.reading.request import RowRequest, TableRows
from pyspark_pulsar.history.columnar.reading.row_groups import RowRange
from pyspark_pulsar.history.columnar.reading.rows import RowBatch, TableReader
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.location import (
    FilePart,
    Missing,
    PartitionAccess,
    RangeProgress,
    RowLocation,
    touches,
)


@dataclass(frozen=True, slots=True)
class FromColumns(RowLocation):
    """Data files with all rows of the range. There are no files if the range has no rows."""

    name: ClassVar[str] = "columns"
    title: ClassVar[str] = "the topic's table"

    table: TableRows
    files: tuple[DataFile, ...]

    def rows(
        self, access: PartitionAccess, start: Position, end: Position, request: RowRequest
    ) -> Generator[RowBatch, None, None]:
        reader = TableReader(self.table, request, access.partition)
        return reader.rows(self.files, RowRange(access.partition.index, start, end))

    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Return the whole range, which is lost if its first ledger is removed; None if the range has no rows."""
        del progress
        ledgers = [file.ledgers[0] for file in self.files if file.ledgers is not None]
        if not self.files:
            return None
        if start.is_earliest and len(ledgers) < len(self.files):
            return Missing(0, f"the rows from {start} up to {end}")
        first = min(ledgers) if start.is_earliest else start.ledger
        return Missing(first, f"the rows from {start} up to {end}, from ledger {first} on")

    def gives(self, ledger: Ledger, start: Position, end: Position) -> bool:
        return touches(ledger, start, end)

    def file_part(self, start: Position, end: Position) -> FilePart:
        shares = [(file, file.share(start, end)) for file in self.files]
        return FilePart(
            sum(share > 0 for _, share in shares),
            sum(round(file.rows * share) for file, share in shares),
            sum(round(file.size * share) for file, share in shares),
        )

    def copy_url(self, partition: TopicPartition) -> str | None:
        """Return the URL of the first data file."""
        del partition
        return self.files[0].url if self.files else None
