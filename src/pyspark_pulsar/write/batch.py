"""`df.write.format("pulsar").mode("append")`, at-least-once."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyspark_pulsar.interpreter import Shipped
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.commit import RowsStored
from pyspark_pulsar.write.target import RowTargets, Target
from pyspark_pulsar.write.task import write_rows


class PulsarBatchWriter(Shipped, DataSourceArrowWriter):
    """`write` runs on executors, the rest on the driver."""

    def __init__(self, options: WriteOptions, target: Target | RowTargets) -> None:
        self._options = options
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return RowsStored(write_rows(self._options, self._target, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing to do: at-least-once rows are visible as they are stored."""

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing can be taken back; Spark reports the failure of the job."""
