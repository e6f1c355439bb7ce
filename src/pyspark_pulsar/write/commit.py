"""What a task tells the driver when all its rows are stored."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage


@dataclass(frozen=True)
class RowsStored(WriterCommitMessage):
    """Picklable; `rows` have receipts from the broker."""

    rows: int
