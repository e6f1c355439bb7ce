"""The steps of a delivery guarantee during a write. The driver creates one object, and every step calls it.

    step      where                        at-least-once, and none            exactly-once (`exactly_once`)
    prepare   driver, before any task      nothing                            check transactions, claim the journal
    write     executor, each task attempt  send the rows, wait for receipts   send them in an open transaction
    commit    driver, all tasks ended      nothing: stored rows are visible   decide, then commit
    abort     driver, a task failed        nothing: stored rows stay          abort what is not decided

`guarantee` selects the object by option `deliveryGuarantee`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.commit_message import CommitMessage, RowsStored
from pyspark_pulsar.write.target import RowTargets, Target
from pyspark_pulsar.write.task import write_rows


class Delivery(ABC):
    """A delivery guarantee. Picklable. Each job, and each process that plans, writes or commits an epoch, has one."""

    @abstractmethod
    def prepare(self, *, runs: bool = False) -> None:
        """Check the prerequisites of the guarantee before any row is sent. Driver only.

        `BrokerClient.for_planning` explains `runs`.
        """

    @abstractmethod
    def write(self, target: Target | RowTargets, batches: Iterator[pa.RecordBatch]) -> CommitMessage:
        """Send all rows of a task, and return its message to the driver. Executor only.

        Raises:
            SendError: A row was not stored.
            SchemaError: A row does not fit the schema.

        """

    @abstractmethod
    def commit(self, epoch: int, messages: Sequence[object]) -> None:
        """Make the rows of all tasks count, when all have ended with these `messages` (`CommitMessage`). Driver only.

        `epoch` is Spark's number of the micro-batch. For a job, it is `EPOCH_OF_A_JOB`.
        """

    @abstractmethod
    def abort(self, epoch: int, messages: Sequence[object]) -> None:
        """Abort the epoch or job that Spark has given up. Driver only. `messages` contains None if a task failed."""


@dataclass(frozen=True)
class WithoutTransactions(Delivery):
    """A delivery whose rows are visible when they are stored, and cannot be removed.

    An attempt that runs again writes its rows again. With receipts, the delivery is at-least-once. Without them
    (`none`), a task ends when its rows are sent, and rows may be lost.
    """

    options: WriteOptions
    awaits_receipts: bool

    def prepare(self, *, runs: bool = False) -> None:
        """Do nothing, because nothing is required."""

    def write(self, target: Target | RowTargets, batches: Iterator[pa.RecordBatch]) -> RowsStored:
        return RowsStored(write_rows(self.options, target, batches, awaits_receipts=self.awaits_receipts))

    def commit(self, epoch: int, messages: Sequence[object]) -> None:
        """Do nothing, because the rows were stored when their tasks ended."""

    def abort(self, epoch: int, messages: Sequence[object]) -> None:
        """Do nothing: stored rows stay, and Spark reports the failure."""
