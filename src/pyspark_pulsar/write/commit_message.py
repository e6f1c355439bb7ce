"""What a task tells the driver when it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.write.exactly_once.state import PreparedTransaction, Writer


@dataclass(frozen=True)
class RowsStored(WriterCommitMessage):
    """Picklable; `rows` have receipts from the broker, unless its delivery awaits none."""

    rows: int


@dataclass(frozen=True)
class RowsPrepared(WriterCommitMessage):
    """Picklable. `prepared` is None where a task had no rows, or its epoch was decided before."""

    writer: Writer
    journal: str
    """As `Journal.prefix`: only tasks know a query's id, which its name is made of."""
    prepared: PreparedTransaction | None
    row_digest: RowDigest
    """The rows of the task, also of one whose epoch was decided before."""


CommitMessage: TypeAlias = RowsStored | RowsPrepared
