"""`df.writeStream.format("pulsar")`: an epoch is complete when every row has its receipt, or is committed."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.spark.shipped import Shipped
from pyspark_pulsar.write import delivery
from pyspark_pulsar.write.commit import RowsStored
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.task import write_in_transaction
from pyspark_pulsar.write.target import RowTargets, Target
from pyspark_pulsar.write.task import write_rows


class PulsarStreamWriter(Shipped, DataSourceStreamArrowWriter):
    """`write` runs on executors, `commit` and `abort` in a driver process of their own, with a writer made anew."""

    def __init__(
        self, options: WriteOptions, target: Target | RowTargets | None, journal: JournalName | None = None
    ) -> None:
        """`target` None: no rows will be written with it."""
        self._options = options
        self._target = target
        self._journal = journal

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._target is None:
            raise PulsarError(
                "expected a writer that was made to write, got one that commits; please report this"
            )
        if self._journal is None:
            return RowsStored(write_rows(self._options, self._target, iterator))
        return write_in_transaction(self._options, self._target, self._journal, iterator, None)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Without a journal there is nothing to do: the epoch's rows are stored when its tasks have ended."""
        if self._journal is not None:
            delivery.commit(self._options, batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Spark fails the query, and the epoch runs again after a restart; without a journal its rows stay."""
        if self._journal is not None:
            delivery.abort(self._options, batchId, messages)
