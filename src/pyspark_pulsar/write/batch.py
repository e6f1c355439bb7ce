"""`df.write.format("pulsar").mode("append")`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.spark.shipped import Shipped
from pyspark_pulsar.write import delivery
from pyspark_pulsar.write.commit import RowsStored
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.state import EPOCH_OF_A_JOB, Writer
from pyspark_pulsar.write.exactly_once.task import write_in_transaction
from pyspark_pulsar.write.target import RowTargets, Target
from pyspark_pulsar.write.task import write_rows


class PulsarBatchWriter(Shipped, DataSourceArrowWriter):
    """`write` runs on executors, the rest on the driver. With a journal the job is one epoch, exactly-once."""

    def __init__(
        self,
        options: WriteOptions,
        target: Target | RowTargets,
        journal: JournalName | None = None,
        job: Writer | None = None,
    ) -> None:
        """`job`: with a journal; `new_job`."""
        self._options = options
        self._target = target
        self._journal = journal
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._journal is None:
            return RowsStored(write_rows(self._options, self._target, iterator))
        return write_in_transaction(self._options, self._target, self._journal, iterator, self._job)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Without a journal there is nothing to do: rows are visible as they are stored."""
        if self._journal is not None:
            delivery.commit(self._options, EPOCH_OF_A_JOB, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Without a journal nothing can be taken back; Spark reports the failure of the job."""
        if self._journal is not None and self._job is not None:
            job = (self._job, self._journal.of(self._job.owner))
            delivery.abort(self._options, EPOCH_OF_A_JOB, messages, job)


def new_job(journal: JournalName | None) -> Writer | None:
    """Who a job is to its journal."""
    name = uuid.uuid4().hex
    return None if journal is None else Writer(name, name, journal.target)
