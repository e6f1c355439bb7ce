"""The part of a task in an exactly-once write (steps 1 to 4 of the package's head): its rows in a transaction of its
own, left open for the driver."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.client.broker.transaction_coordinator import OpenTransaction, named
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.options import WriteOptions
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
    """New, and in the journal with its partitions before it takes them in.

    A driver that gives a job up, or decides it, notes that, and reads which transactions were begun. A task notes that
    it has begun, then sees whether its job goes on. So one of them sees the other, as far as brokers show all that is
    stored, and the transaction is aborted. Of a query the next epoch or start aborts what was begun.
    """

    def __init__(self, sink: Sink, writer: Writer, epoch: int, timeout_ms: int) -> None:
        ends = time.monotonic() + timeout_ms / 1000
        super().__init__(sink.coordinators, sink.coordinators.begin(timeout_ms), ends)
        self._sink = sink
        self._record = BegunTransaction(self.id, writer, epoch)

    @property
    def begun(self) -> BegunTransaction:
        """With all the partitions that it was sent something to, or may have been, but that of markers."""
        return self._with(self.partitions)

    def _with(self, partitions: Iterable[str]) -> BegunTransaction:
        rows = set(partitions) - {self._sink.journal.marker_partition}
        return replace(self._record, partitions=tuple(sorted(rows)))

    def _take_in(self, partitions: Sequence[str]) -> None:
        begun = self._with(partitions)
        self._sink.journal.write_begun(begun)
        if begun.writer.is_job and not self.partitions:
            self._require_running(begun.writer)
        super()._take_in(partitions)

    def _require_running(self, job: Writer) -> None:
        state = take_over(self._sink, job)
        if state.epoch >= EPOCH_OF_A_JOB:
            raise RunFenced(
                f"{job}: expected it to wait for this attempt of a task, but it is decided already, with another one; "
                f"nothing of this one counts as written"
            )


def write_in_transaction(
    options: WriteOptions,
    target: Target | RowTargets,
    journal: JournalName,
    batches: Iterator[pa.RecordBatch],
    job: Writer | None,
) -> RowsPrepared:
    """Send all rows in an open transaction. Executor only. `job` None: an epoch of a streaming query.

    When it raises, its transaction is aborted; when the process dies, whoever commits aborts it. Raises what
    `write_rows` and `take_over` do.
    """
    writer, epoch = _epoch_of_a_stream() if job is None else (job, EPOCH_OF_A_JOB)
    writer = replace(writer, target=journal.target)
    with pooled_client(options) as client:
        sink = Sink.open(client, journal.of(writer.owner))
        may_be_empty = epoch == 0 or options.transaction_journal is not None
        state = take_over(sink, writer, may_be_empty=may_be_empty)
        if epoch <= state.epoch:
            row_digest = _repeated_rows(options, target, batches, client, state, epoch)
            return RowsPrepared(writer, sink.journal.prefix, None, row_digest)
        first = next(batches, None)
        if first is None:
            return RowsPrepared(writer, sink.journal.prefix, None, RowDigest())
        # Topics that rows name are added when their first rows come.
        partitions = target.partitions if isinstance(target, Target) else ()
        transaction = _RecordedTransaction(sink, writer, epoch, options.transaction_timeout_ms)
        try:
            transaction.add_partitions([sink.journal.marker_partition, *partitions])
            rows = itertools.chain([first], batches)
            # Spark never runs a job again, so nobody would compare its rows.
            terms = DeliveryTerms(transaction=transaction, digests=job is None and _digests(options))
            row_digest = send_rows(options, target, rows, client, terms)
            transaction.require_time()
            sink.journal.write_marker(transaction.id)
        except BaseException:
            _abort(sink, transaction.begun)
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
    """Of rows that are dropped, since their epoch was decided before. Takes all of them: Spark's worker must, before it
    ends."""
    compared = epoch == state.epoch and state.row_digest is not None and state.row_digest.digest is not None
    if compared and _digests(options):
        return digest_rows(options, target, batches, client)
    return RowDigest(sum(batch.num_rows for batch in batches), None)


def _epoch_of_a_stream() -> tuple[Writer, int]:
    query, run, epoch = present_epoch()
    return Writer(query, run), epoch


def _abort(sink: Sink, begun: BegunTransaction) -> None:
    """Raises nothing: what made the task fail is what the user must see."""
    try:
        if begun.partitions:
            abort_running(sink, lambda: [begun], require_alone=lambda: None)
        else:
            sink.coordinators.abort_all([begun.transaction])
    except PulsarError as fault:
        _log.warning(
            "%s was not aborted, which the next one who commits will do: %s", named(begun.transaction), fault
        )
