"""The part of a task in an exactly-once write: its rows in a transaction of its own, left open for the driver."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.errors import CommitError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.epochs import Sink, take_over
from pyspark_pulsar.write.journal import Begun, Prepared, Writer
from pyspark_pulsar.write.target import Target
from pyspark_pulsar.write.task import send_rows

# Local properties of Spark's streaming jobs: the query's id, its present epoch; a run's id is the job's group.
_QUERY, _EPOCH, _RUN = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"


@dataclass(frozen=True)
class RowsPrepared(WriterCommitMessage):
    """Picklable. `prepared` is None where a task had no rows, or its epoch was decided before."""

    writer: Writer
    prepared: Prepared | None


def write_in_transaction(
    options: WriteOptions,
    target: Target,
    journal: str,
    batches: Iterator[pa.RecordBatch],
    job: Writer | None,
) -> RowsPrepared:
    """Send all rows in an open transaction. Executor only. `job` None: an epoch of a streaming query.

    When it raises, its transaction is aborted; when the process dies, whoever commits aborts it. Raises what
    `write_rows` does, and `WriterFenced` when another run of the query has taken over.
    """
    writer, epoch, partition = _task(job)
    with BrokerClient(options) as client:
        sink = Sink.open(client, journal)
        state = take_over(sink, writer)
        first = next(batches, None)
        if epoch <= state.epoch or first is None:
            for _ in batches:
                pass  # Spark's worker must have taken all rows before it ends.
            return RowsPrepared(writer, None)
        transaction = sink.coordinators.begin(max(1, options.transaction_timeout_ms // 1000))
        try:
            sink.journal.write_begun(Begun(transaction, writer, epoch))
            sink.coordinators.add_partitions(transaction, [sink.journal.marker_partition, *target.partitions])
            rows = send_rows(options, target, itertools.chain([first], batches), client, transaction)
            sink.journal.write_marker(transaction)
        except BaseException:
            sink.coordinators.abort(transaction)
            raise
        return RowsPrepared(writer, Prepared(transaction, partition, rows))


def _task(job: Writer | None) -> tuple[Writer, int, int]:
    """Who writes, the epoch, and Spark's partition."""
    task = TaskContext.get()
    partition = 0 if task is None else task.partitionId()
    if job is not None:
        return job, 0, partition
    found = [None if task is None else task.getLocalProperty(name) for name in (_QUERY, _EPOCH, _RUN)]
    query, epoch, run = found
    if query is None or epoch is None or run is None:
        raise CommitError(
            f"deliveryGuarantee=exactly-once: expected Spark to tell a task its query, epoch and run, got {found}; use "
            f"a streaming query of Spark 4.1 or newer, or deliveryGuarantee=at-least-once"
        )
    return Writer(query, run), int(epoch), partition
