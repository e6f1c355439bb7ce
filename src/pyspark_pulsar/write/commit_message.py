"""The messages that a finished task sends to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.write.exactly_once.state import PreparedTransaction, Writer


@dataclass(frozen=True)
class RowsStored(WriterCommitMessage):
    """The result of a task without a transaction.

    The broker has confirmed `rows`, if receipts are awaited. Picklable.
    """

    rows: int


@dataclass(frozen=True)
class RowsPrepared(WriterCommitMessage):
    """The result of a task of the exactly-once sink. Picklable.

    `prepared` is None if the task had no rows, or if its epoch was decided before.
    """

    writer: Writer
    journal: str
    """The prefix of the journal. Only tasks know a query's id, which the prefix contains."""
    prepared: PreparedTransaction | None
    row_digest: RowDigest
    """The digest of the task's rows, even if its epoch was decided before."""


CommitMessage: TypeAlias = RowsStored | RowsPrepared
