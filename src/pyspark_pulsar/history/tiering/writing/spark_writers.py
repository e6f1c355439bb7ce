"""Writers that write splits in a Spark job. Each split is one task, and Spark repeats a task if the executor is lost.

If a task fails with an error of this package, the task returns the error as its result. So Spark does not repeat the
task, and the error is reported for the topic. The next run of tiering writes the split again.

The job reads a data source of this module. The rows of the data source contain the results of the tasks. A data source
needs neither pandas nor RDDs, so the job works in classic sessions and in Spark Connect. The pickled class of the data
source contains the tasks, so no plan or log shows the settings of a task.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.history.tiering.writing.split_writers import WriteTask, WrittenSplit, write_split
from pyspark_pulsar.runtime import threading

_NAME: Final = "pyspark_pulsar_tiering"
_SCHEMA: Final = "number bigint, split binary"
_ONE_JOB: Final = threading.Lock()
"""A lock for jobs. A data source is registered by name, so only one job at a time can register its data source and run.
"""


class SparkWriters:
    """A set of writers in a Spark session.

    Several threads can use one object. A process runs only one job at a time, on all free executors.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """Write the splits, and return the results in the order of the tasks.

        If Spark repeats a task in vain, the method raises Spark's error.

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
        """A data source that contains the tasks. The class is pickled by value, so the executors receive the tasks."""

        @classmethod
        def name(cls) -> str:
            return _NAME

        def schema(self) -> str:
            return _SCHEMA

        def reader(self, schema: object) -> DataSourceReader:
            del schema
            return _Reader(tasks)

    return TieringSource
