"""The exactly-once delivery, which runs the protocol of this package in the calls that Spark makes."""

from __future__ import annotations

import itertools
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
from pyspark_pulsar.runtime import uuid
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

_MOST_RETRY_SECONDS: Final = 600.0


@dataclass(frozen=True)
class ExactlyOnce(Delivery):
    """The exactly-once delivery of a job or a query.

    A job is one epoch. For a streaming query, `job` is None, because only tasks know the query's id. Tasks send this id
    to the driver.
    """

    options: WriteOptions
    journal: JournalName
    job: Writer | None = None

    @classmethod
    def of_job(cls, options: WriteOptions, journal: JournalName) -> Self:
        """Return the delivery of a new job, with a new id."""
        job_id = uuid.uuid4().hex
        return cls(options, journal, Writer(job_id, job_id, journal.target))

    def prepare(self, *, runs: bool = False) -> None:
        """Check that the broker supports transactions. Create the journal if the driver can determine its name.

        Raises:
            OptionError: Transactions are disabled in the broker.
            JournalTaken: The journal for a job belongs to a streaming query.

        """
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
        """Make the rows of all tasks visible. Raises the errors of `commit_epoch`."""
        tasks = _ended_tasks(messages)
        if not tasks:
            return
        row_digest = self._row_digest(tasks)

        # Later attempts use new connections, because the broker may never answer on a connection that timed out once.
        clients: Iterator[Callable[[WriteOptions], AbstractContextManager[BrokerClient]]] = itertools.chain(
            [pooled_client], itertools.repeat(BrokerClient)
        )

        def attempt() -> None:
            with next(clients)(self.options) as client:
                sink = Sink.open(client, tasks[0].journal)
                commit_epoch(sink, tasks[0].writer, epoch, _prepared(tasks), row_digest)

        until_known(attempt, self._retry_seconds)

    def abort(self, epoch: int, messages: Sequence[object]) -> None:
        """Make sure that no row of the epoch becomes visible, unless the epoch is already decided.

        Raises the errors of `abort_epoch`.

        """
        tasks = _ended_tasks(messages)
        if tasks:
            writer, journal = tasks[0].writer, tasks[0].journal
        elif self.job is not None:
            writer, journal = self.job, self.journal.name_for(self.job.owner)
        else:
            # Every task has failed and has aborted its own transaction. The driver does not know the journal's name or
            # the run, so the driver cannot abort transactions of killed workers. These transactions end when the query
            # starts again.
            return

        def attempt() -> None:
            with BrokerClient(self.options) as client:
                abort_epoch(Sink.open(client, journal), writer, epoch, _prepared(tasks))

        try:
            until_known(attempt, self._retry_seconds)
        except CommitUnfinished:
            raise
        except PulsarError as fault:
            if self.job is None or len(tasks) < len(messages):
                raise
            # All tasks had ended, so this abort may follow a commit that failed after its beginning.
            raise in_doubt(writer, epoch, journal, fault) from fault

    @property
    def _retry_seconds(self) -> float:
        """Maximum seconds of retries after a decision.

        After the timeout of the transactions, the broker has ended the transactions, and retries are useless. The limit
        `_MOST_RETRY_SECONDS` ends the retries before the JVM stops waiting. The JVM's error would contain less advice.
        """
        seconds = max(self.options.transaction_timeout_ms, self.options.operation_timeout_ms) / 1000
        return min(seconds, _MOST_RETRY_SECONDS)

    def _row_digest(self, tasks: Sequence[RowsPrepared]) -> RowDigest | None:
        """Return the digest of all rows of the epoch, as the option `repeatedEpochCheck` requires.

        With `count`, the digest contains only the number of rows. With `none`, return None.
        """
        check = self.options.repeated_epoch_check
        if check == "none":
            return None
        total = reduce(add, (task.row_digest for task in tasks))
        return total if check == "rows" else replace(total, digest=None)


def _ended_tasks(messages: Sequence[object]) -> list[RowsPrepared]:
    return [message for message in messages if isinstance(message, RowsPrepared)]


def _prepared(tasks: Sequence[RowsPrepared]) -> list[PreparedTransaction]:
    return [task.prepared for task in tasks if task.prepared is not None]
