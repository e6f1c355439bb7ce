"""Writers of splits in a Spark job: one task for each split, which Spark repeats if the executor is lost.

An error of this package is a task's result and fails no task: the error belongs to the topic, and the next run tries
again.

The job reads from its own data source, whose rows contain the results of the tasks. This needs neither pandas nor RDDs,
so it works in classic sessions and in Spark Connect. The tasks are in the pickled class of the data source, so they
appear in no plan or log.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.history.tiering.writing.split_writers import WriteTask, WrittenSplit, write_split

_NAME: Final = "pyspark_pulsar_tiering"
_SCHEMA: Final = "number bigint, split binary"
_ONE_JOB: Final = Lock()
"""The session or the server stores the data source by name, so only one job may register it and run at a time."""


class SparkWriters:
    """A set of writers in a Spark session.

    Used by several threads. A process runs one job at a time, on all free executors.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """Write the splits, and return a result for each task, in order.

        Also raises Spark's error for a task that failed repeatedly.

        Raises:
            PulsarError: The error of the first split that could not be written.

        """
        if not tasks:
            return []
        with _ONE_JOB:
            self._spark.dataSource.register(_source(tuple(tasks)))
            rows = self._spark.read.format(_NAME).load().collect()
        answers = {row.number: pickle.loads(row.split) for row in rows}  # noqa: S301 - our own tasks wrote it
        for number in range(len(tasks)):
            if isinstance(answers[number], PulsarError):
                raise answers[number]
        return [answers[number] for number in range(len(tasks))]


class _Reader(DataSourceReader):
    def __init__(self, tasks: tuple[WriteTask, ...]) -> None:
        self._tasks = tasks

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(len(self._tasks))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        answer: WrittenSplit | PulsarError
        try:
            answer = write_split(self._tasks[partition.value])
        except PulsarError as fault:
            answer = fault
        columns = [pa.array([partition.value], pa.int64()), pa.array([pickle.dumps(answer)], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["number", "split"])


def _source(tasks: tuple[WriteTask, ...]) -> type[DataSource]:
    class TieringSource(DataSource):
        """A data source that is pickled by value, with its tasks."""

        @classmethod
        def name(cls) -> str:
            return _NAME

        def schema(self) -> str:
            return _SCHEMA

        def reader(self, schema: object) -> DataSourceReader:
            del schema
            return _Reader(tasks)

    return TieringSource
