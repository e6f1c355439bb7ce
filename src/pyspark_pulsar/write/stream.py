"""`df.writeStream.format("pulsar")`, at-least-once: an epoch is complete when every row has its receipt."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_pulsar.interpreter import Shipped
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.commit import RowsStored
from pyspark_pulsar.write.target import RowTargets, Target
from pyspark_pulsar.write.task import write_rows


class PulsarStreamWriter(Shipped, DataSourceStreamArrowWriter):
    """`write` runs on executors, `commit` and `abort` in a driver process of their own."""

    def __init__(self, options: WriteOptions, target: Target | RowTargets) -> None:
        self._options = options
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return RowsStored(write_rows(self._options, self._target, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing to do: the epoch's rows are stored when its tasks have ended."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing can be taken back; Spark fails the query, and the epoch runs again after a restart."""
