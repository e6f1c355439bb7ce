"""What a delivery guarantee does at each step of a write. One object, made on the driver, that every step asks.

| step | where | at-least-once, and none | exactly-once (`exactly_once`) |
|---|---|---|---|
| `prepare` | driver, before any task | nothing | the broker has transactions, and the journal is ours |
| `write` | executor, each task attempt | sends the rows and waits for receipts | sends them in an open transaction |
| `commit` | driver, when all tasks have ended | nothing: stored rows are visible | decides, then commits |
| `abort` | driver, when a task has failed | nothing: stored rows stay | aborts what is not decided |

`guarantee` picks the object by option `deliveryGuarantee`.
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
    """Picklable. One for each job, or for each of the processes in which Spark plans, writes and commits an epoch."""

    @abstractmethod
    def prepare(self, *, runs: bool = False) -> None:
        """Check what the guarantee needs, before any row is sent. Driver only.

        `runs`: see `BrokerClient.for_planning`.
        """

    @abstractmethod
    def write(self, target: Target | RowTargets, batches: Iterator[pa.RecordBatch]) -> CommitMessage:
        """Send all rows of a task; what it tells the driver. Executor only. Raises `SendError`, `SchemaError`."""

    @abstractmethod
    def commit(self, epoch: int, messages: Sequence[object]) -> None:
        """All tasks have ended, with these `messages` (`CommitMessage`): their rows count from now on. Driver only.

        `epoch` is Spark's number of the micro-batch; a job is `EPOCH_OF_A_JOB`.
        """

    @abstractmethod
    def abort(self, epoch: int, messages: Sequence[object]) -> None:
        """Spark has given the epoch or job up. Driver only. `messages` has None for a task that failed."""


@dataclass(frozen=True)
class WithoutTransactions(Delivery):
    """Rows are visible as they are stored, and nothing can be taken back: an attempt that runs again writes its rows
    again.

    With receipts it is at-least-once. Without them (`none`) a task ends when its rows are sent, and rows may be lost.
    """

    options: WriteOptions
    awaits_receipts: bool

    def prepare(self, *, runs: bool = False) -> None:
        """Nothing is needed."""

    def write(self, target: Target | RowTargets, batches: Iterator[pa.RecordBatch]) -> RowsStored:
        return RowsStored(write_rows(self.options, target, batches, awaits_receipts=self.awaits_receipts))

    def commit(self, epoch: int, messages: Sequence[object]) -> None:
        """The rows are stored since their tasks have ended."""

    def abort(self, epoch: int, messages: Sequence[object]) -> None:
        """The rows that were stored stay; Spark reports the failure."""
