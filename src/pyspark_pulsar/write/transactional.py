"""The part of a task in an exactly-once write: its rows in a transaction of its own, left open for the driver."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.coordinator import OpenTransaction, named
from pyspark_pulsar.client.transactions import TransactionId
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.attempt import present_epoch, present_partition
from pyspark_pulsar.write.commit import RowsPrepared
from pyspark_pulsar.write.epochs import Sink, take_over
from pyspark_pulsar.write.journal import EPOCH_OF_A_JOB, Begun, Prepared, Writer
from pyspark_pulsar.write.target import RowTargets, Target
from pyspark_pulsar.write.task import send_rows

_log = logging.getLogger(__name__)


def write_in_transaction(
    options: WriteOptions,
    target: Target | RowTargets,
    journal: str,
    batches: Iterator[pa.RecordBatch],
    job: Writer | None,
) -> RowsPrepared:
    """Send all rows in an open transaction. Executor only. `job` None: an epoch of a streaming query.

    When it raises, its transaction is aborted; when the process dies, whoever commits aborts it. Raises what
    `write_rows` and `take_over` do.
    """
    writer, epoch = present_epoch() if job is None else (job, EPOCH_OF_A_JOB)
    with BrokerClient(options) as client:
        sink = Sink.open(client, journal)
        begins = epoch == 0 or options.transaction_journal is not None
        state = take_over(sink, writer, begins=begins)
        first = next(batches, None)
        if epoch <= state.epoch or first is None:
            for _ in batches:
                pass  # Spark's worker must have taken all rows before it ends.
            return RowsPrepared(writer, None)
        transaction = sink.coordinators.begin(options.transaction_timeout_ms)
        try:
            sink.journal.write_begun(Begun(transaction, writer, epoch))
            open_transaction = OpenTransaction(sink.coordinators, transaction)
            # Topics that rows name are taken in when their first rows come.
            known = target.partitions if isinstance(target, Target) else ()
            open_transaction.take_in([sink.journal.marker_partition, *known])
            rows = send_rows(options, target, itertools.chain([first], batches), client, open_transaction)
            sink.journal.write_marker(transaction)
        except BaseException:
            _abort(sink, transaction)
            raise
        return RowsPrepared(writer, Prepared(transaction, present_partition(), rows))


def _abort(sink: Sink, transaction: TransactionId) -> None:
    """What made the task fail is what the user must see."""
    try:
        sink.coordinators.abort_all([transaction])
    except PulsarError as fault:
        _log.warning(
            "%s was not aborted, which the next one who commits will do: %s", named(transaction), fault
        )
