"""The writer of `df.writeStream.format("pulsar")`.

An epoch is complete when the delivery guarantee is met for every row.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.shipped_objects import Shipped
from pyspark_pulsar.spark.tracebacks import hides_tracebacks
from pyspark_pulsar.write.delivery import Delivery
from pyspark_pulsar.write.target import RowTargets, Target


@hides_tracebacks
class PulsarStreamWriter(Shipped, DataSourceStreamArrowWriter):
    """The writer of one epoch.

    `write` runs on executors. `commit` and `abort` run in a separate process of the driver, in another instance.
    """

    def __init__(self, delivery: Delivery, target: Target | RowTargets | None) -> None:
        """Store the arguments. If `target` is None, `write` raises an error."""
        self._delivery = delivery
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._target is None:
            raise PulsarError(
                "a writer that only commits received rows: expected a writer with a target; report this as a bug"
            )
        self.begin_task()
        return self._delivery.write(self._target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self._delivery.commit(batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Abort the epoch. Spark fails the query, and runs the epoch again after a restart."""
        self._delivery.abort(batchId, messages)
