"""The steps of a delivery guarantee during a write. The driver creates an object with one method for each step.

    step      place                        `at-least-once` and `none`         `exactly-once` (`exactly_once`)
    prepare   driver, before any task      nothing                            check transactions, create the journal
    write     executor, each task attempt  send the rows, wait for receipts   send the rows in an open transaction
    commit    driver, after all tasks      nothing: stored rows are visible   decide, then commit
    abort     driver, after a failure      nothing: stored rows stay          abort undecided transactions

The module `guarantee` creates the object for the value of the option `deliveryGuarantee`.
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
    """A delivery guarantee. Instances are picklable.

    A job has one instance. For a query, each process that plans, writes or commits an epoch has its own instance.
    """

    @abstractmethod
    def prepare(self, *, runs: bool = False) -> None:
        """Check the prerequisites of the guarantee before any row is sent. Runs on the driver only.

        Args:
            runs: True if the query is already running; see `BrokerClient.for_planning`.

        """

    @abstractmethod
    def write(self, target: Target | RowTargets, batches: Iterator[pa.RecordBatch]) -> CommitMessage:
        """Send all rows of a task, and return the task's message to the driver. Runs on executors only.

        Raises:
            SendError: The broker did not store a row.
            SchemaError: A row does not fit the schema.

        """

    @abstractmethod
    def commit(self, epoch: int, messages: Sequence[object]) -> None:
        """Commit the epoch or job, after all tasks have ended. Runs on the driver only.

        Args:
            epoch: Spark's number of the micro-batch; `EPOCH_OF_A_JOB` for a job.
            messages: The `CommitMessage` of each task.

        """

    @abstractmethod
    def abort(self, epoch: int, messages: Sequence[object]) -> None:
        """Abort an epoch or job after a failure. Runs on the driver only.

        Args:
            epoch: Spark's number of the micro-batch; `EPOCH_OF_A_JOB` for a job.
            messages: The `CommitMessage` of each ended task. The element of a failed task is None.

        """


@dataclass(frozen=True)
class WithoutTransactions(Delivery):
    """A delivery whose rows are visible when they are stored, and cannot be removed.

    A repeated task attempt writes its rows again. If receipts are awaited, the delivery is `at-least-once`. If receipts
    are not awaited, the delivery is `none`: a task ends when its rows are sent, and rows may be lost.
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
        """Do nothing. Stored rows stay in the topic, and Spark reports the failure."""
