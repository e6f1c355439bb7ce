"""The writer of `df.write.format("pulsar").mode("append")`."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyspark_pulsar.spark.shipped_objects import Shipped
from pyspark_pulsar.spark.tracebacks import hides_tracebacks
from pyspark_pulsar.write.delivery import Delivery
from pyspark_pulsar.write.exactly_once.state import EPOCH_OF_A_JOB
from pyspark_pulsar.write.target import RowTargets, Target


@hides_tracebacks
class PulsarBatchWriter(Shipped, DataSourceArrowWriter):
    """The writer of one job. The delivery of a job has a single epoch.

    `write` runs on executors. All other methods run on the driver.
    """

    def __init__(self, delivery: Delivery, target: Target | RowTargets) -> None:
        self._delivery = delivery
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        self.begin_task()
        return self._delivery.write(self._target, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._delivery.commit(EPOCH_OF_A_JOB, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._delivery.abort(EPOCH_OF_A_JOB, messages)
