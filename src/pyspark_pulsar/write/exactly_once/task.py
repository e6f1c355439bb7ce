"""The steps of an exactly-once write that a task runs (steps 1 to 4 of the package).

A task writes its rows in a separate transaction, and leaves the transaction open. The driver commits the transaction.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.client.broker.transaction_coordinator import OpenTransaction, named
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.runtime import time
from pyspark_pulsar.spark.task_context import present_epoch, present_partition
from pyspark_pulsar.write.commit_message import RowsPrepared
from pyspark_pulsar.write.exactly_once.abort import abort_running
from pyspark_pulsar.write.exactly_once.epochs import take_over
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.ownership import RunFenced
from pyspark_pulsar.write.exactly_once.repeated import digest_rows
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import (
    EPOCH_OF_A_JOB,
    BegunTransaction,
    JournalState,
    PreparedTransaction,
    Writer,
)
from pyspark_pulsar.write.sender import DeliveryTerms
from pyspark_pulsar.write.target import RowTargets, Target
from pyspark_pulsar.write.task import send_rows

_log = logging.getLogger(__name__)


class _RecordedTransaction(OpenTransaction):
    """A new transaction that is recorded in the journal, with its partitions, before the partitions are added.

    A driver that abandons or decides a job first writes this fact to the journal, and then reads the begun
    transactions. A task first writes its transaction to the journal, and then reads whether its job still runs. If
    brokers return all stored records, either the driver or the task finds the record of the other process, and aborts
    the transaction. For a query, the next epoch or the next start aborts the transaction.
    """

    def __init__(self, sink: Sink, writer: Writer, epoch: int, timeout_ms: int) -> None:
        ends = time.monotonic() + timeout_ms / 1000
        super().__init__(sink.coordinators, sink.coordinators.begin(timeout_ms), ends)
        self._sink = sink
        self._record = BegunTransaction(self.id, writer, epoch)

    @property
    def begun_transaction(self) -> BegunTransaction:
        """The transaction with all partitions that may have received rows, except the marker partition."""
        return self._with(self.partitions)

    def _with(self, partitions: Iterable[str]) -> BegunTransaction:
        rows = set(partitions) - {self._sink.journal.marker_partition}
        return replace(self._record, partitions=tuple(sorted(rows)))

    def _add_new_partitions(self, partitions: Sequence[str]) -> None:
        begun = self._with(partitions)
        self._sink.journal.write_begun(begun)
        if begun.writer.is_job and not self.partitions:
            self._require_running(begun.writer)
        super()._add_new_partitions(partitions)

    def _require_running(self, job: Writer) -> None:
        state = take_over(self._sink, job)
        if state.epoch >= EPOCH_OF_A_JOB:
            raise RunFenced(
                f"{job}: expected the job to wait for this attempt of a task, but the job is decided already, with "
                f"another attempt; no row of this attempt counts as written"
            )


def write_in_transaction(
    options: WriteOptions,
    target: Target | RowTargets,
    journal: JournalName,
    batches: Iterator[pa.RecordBatch],
    job: Writer | None,
) -> RowsPrepared:
    """Send all rows in an open transaction. Runs on executors only.

    If the call raises an error, the transaction is aborted. If the process dies, the next process that commits an epoch
    aborts the transaction.

    Args:
        options: The options of the write.
        target: The topic of the rows, or `RowTargets` if each row names its topic.
        journal: The name of the journal.
        batches: The rows of the task.
        job: The job; None if the task belongs to a streaming query.

    Returns:
        The task's message to the driver.

    Raises:
        PulsarError: See `send_rows` and `take_over`.

    """
    writer, epoch = _epoch_of_a_stream() if job is None else (job, EPOCH_OF_A_JOB)
    writer = replace(writer, target=journal.target)
    with pooled_client(options) as client:
        sink = Sink.open(client, journal.name_for(writer.owner))
        may_be_empty = epoch == 0 or options.transaction_journal is not None
        state = take_over(sink, writer, may_be_empty=may_be_empty)
        if epoch <= state.epoch:
            row_digest = _repeated_rows(options, target, batches, client, state, epoch)
            return RowsPrepared(writer, sink.journal.prefix, None, row_digest)
        first = next(batches, None)
        if first is None:
            return RowsPrepared(writer, sink.journal.prefix, None, RowDigest())
        # Topics that rows name are added when their first rows arrive.
        partitions = target.partitions if isinstance(target, Target) else ()
        transaction = _RecordedTransaction(sink, writer, epoch, options.transaction_timeout_ms)
        try:
            transaction.add_partitions([sink.journal.marker_partition, *partitions])
            rows = itertools.chain([first], batches)
            # Spark does not repeat an epoch of a job, so the rows of a job are never compared.
            terms = DeliveryTerms(transaction=transaction, digests=job is None and _digests(options))
            row_digest = send_rows(options, target, rows, client, terms)
            transaction.require_time()
            sink.journal.write_marker(transaction.id)
        except BaseException:
            _abort(sink, transaction.begun_transaction)
            raise
        prepared = PreparedTransaction(transaction.id, present_partition(), row_digest.rows)
        return RowsPrepared(writer, sink.journal.prefix, prepared, row_digest)


def _digests(options: WriteOptions) -> bool:
    return options.repeated_epoch_check == "rows"


def _repeated_rows(
    options: WriteOptions,
    target: Target | RowTargets,
    batches: Iterator[pa.RecordBatch],
    client: BrokerClient,
    state: JournalState,
    epoch: int,
) -> RowDigest:
    """Return the digest of rows that are dropped because their epoch was decided before.

    The function reads all rows, because Spark's worker must read all rows before the task ends.
    """
    compared = epoch == state.epoch and state.row_digest is not None and state.row_digest.digest is not None
    if compared and _digests(options):
        return digest_rows(options, target, batches, client)
    return RowDigest(sum(batch.num_rows for batch in batches), None)


def _epoch_of_a_stream() -> tuple[Writer, int]:
    query, run, epoch = present_epoch()
    return Writer(query, run), epoch


def _abort(sink: Sink, begun: BegunTransaction) -> None:
    """Abort the transaction. An error of the abort is only logged, because the user must see the error of the task."""
    try:
        if begun.partitions:
            abort_running(sink, lambda: [begun], require_alone=lambda: None)
        else:
            sink.coordinators.abort_all([begun.transaction])
    except PulsarError as fault:
        _log.warning(
            "could not abort a transaction; the next process that commits will abort the transaction: %s: %s",
            fault,
            named(begun.transaction),
        )
