"""Exactly-once at each step of a write: the protocol of the package, between Spark's calls."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Final, Self

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.errors import CommitUnfinished, PulsarError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.commit_message import RowsPrepared
from pyspark_pulsar.write.delivery import Delivery
from pyspark_pulsar.write.exactly_once.epochs import abort_epoch, commit_epoch
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.outcome import in_doubt, until_known
from pyspark_pulsar.write.exactly_once.ownership import refuse_others
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import PreparedTransaction, Writer
from pyspark_pulsar.write.exactly_once.task import write_in_transaction
from pyspark_pulsar.write.target import RowTargets, Target

_MOST_PATIENCE_SECONDS: Final = 600.0


@dataclass(frozen=True)
class ExactlyOnce(Delivery):
    """A job is one epoch. Of a streaming query only tasks know the id, so `job` is None, and they tell the driver."""

    options: WriteOptions
    journal: JournalName
    job: Writer | None = None

    @classmethod
    def of_job(cls, options: WriteOptions, journal: JournalName) -> Self:
        """Of a new job, with an id of its own."""
        job_id = uuid.uuid4().hex
        return cls(options, journal, Writer(job_id, job_id, journal.target))

    def prepare(self, *, runs: bool = False) -> None:
        """Makes the journal, where its name is known. Raises `OptionError` when the broker has no transactions,
        `JournalTaken` when the journal of a job is a stream's."""
        with BrokerClient.for_planning(self.options, runs=runs) as client:
            if self.journal.fixed is None:
                Coordinators(client).check()
                return
            sink = Sink.open(client, self.journal.fixed)
            sink.coordinators.check()
            if self.job is not None:
                refuse_others(sink.journal.state(), self.job, self.journal.fixed)
            sink.journal.prepare()

    def write(self, target: Target | RowTargets, batches: Iterator[pa.RecordBatch]) -> RowsPrepared:
        return write_in_transaction(self.options, target, self.journal, batches, self.job)

    def commit(self, epoch: int, messages: Sequence[object]) -> None:
        """Make the rows of all tasks visible. Raises what `commit_epoch` does."""
        tasks = _ended_tasks(messages)
        if not tasks:
            return
        row_digest = self._row_digest(tasks)

        # Anew when it is tried again: a connection that is silent may stay so.
        clients: Iterator[Callable[[WriteOptions], AbstractContextManager[BrokerClient]]] = itertools.chain(
            [pooled_client], itertools.repeat(BrokerClient)
        )

        def attempt() -> None:
            with next(clients)(self.options) as client:
                sink = Sink.open(client, tasks[0].journal)
                commit_epoch(sink, tasks[0].writer, epoch, _prepared(tasks), row_digest)

        until_known(attempt, self._patience_seconds)

    def abort(self, epoch: int, messages: Sequence[object]) -> None:
        """Make sure that no row of the epoch becomes visible, unless that is decided already. Raises what `abort_epoch`
        does."""
        tasks = _ended_tasks(messages)
        if tasks:
            writer, journal = tasks[0].writer, tasks[0].journal
        elif self.job is not None:
            writer, journal = self.job, self.journal.of(self.job.owner)
        else:
            # Every task has failed and has aborted its own transaction. Which others are of this run and not of one
            # that has taken over, nobody can tell here; those of workers that were killed end when the query starts
            # again.
            return

        def attempt() -> None:
            with BrokerClient(self.options) as client:
                abort_epoch(Sink.open(client, journal), writer, epoch, _prepared(tasks))

        try:
            until_known(attempt, self._patience_seconds)
        except CommitUnfinished:
            raise
        except PulsarError as fault:
            if self.job is None or len(tasks) < len(messages):
                raise
            # All tasks had ended, so the commit may have been under way when it failed.
            raise in_doubt(writer, epoch, journal, fault) from fault

    @property
    def _patience_seconds(self) -> float:
        """Behind a decision; when it is over, the broker has ended the transactions by itself, or the JVM is about to
        give up, which knows less of what to do then."""
        seconds = max(self.options.transaction_timeout_ms, self.options.operation_timeout_ms) / 1000
        return min(seconds, _MOST_PATIENCE_SECONDS)

    def _row_digest(self, tasks: Sequence[RowsPrepared]) -> RowDigest | None:
        """Of all rows of the epoch, as far as option `repeatedEpochCheck` compares them."""
        check = self.options.repeated_epoch_check
        if check == "none":
            return None
        total = reduce(add, (task.row_digest for task in tasks))
        return total if check == "rows" else replace(total, digest=None)


def _ended_tasks(messages: Sequence[object]) -> list[RowsPrepared]:
    return [message for message in messages if isinstance(message, RowsPrepared)]


def _prepared(tasks: Sequence[RowsPrepared]) -> list[PreparedTransaction]:
    return [task.prepared for task in tasks if task.prepared is not None]
