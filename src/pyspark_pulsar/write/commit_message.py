"""The messages that finished tasks send to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.write.exactly_once.state import PreparedTransaction, Writer


@dataclass(frozen=True)
class RowsStored(WriterCommitMessage):
    """The result of a task without a transaction.

    `rows` is the number of sent rows. If receipts are awaited, the broker has confirmed these rows. Instances are
    picklable.
    """

    rows: int


@dataclass(frozen=True)
class RowsPrepared(WriterCommitMessage):
    """The result of a task of the exactly-once sink. Instances are picklable.

    `prepared` is None if the task had no rows, or if the epoch was decided before the task began.
    """

    writer: Writer
    journal: str
    """The prefix of the journal's topics. The prefix contains the query's id, which the driver does not know."""
    prepared: PreparedTransaction | None
    row_digest: RowDigest
    """The digest of the task's rows. A task whose epoch was decided before computes this digest too."""


CommitMessage: TypeAlias = RowsStored | RowsPrepared
