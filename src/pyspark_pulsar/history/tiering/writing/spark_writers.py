"""Splits written by tasks of a Spark job: one task for each, which Spark runs again when its executor is lost. An
error of ours is an answer and fails no task: it is the topic's, and the next run tries again.

The job reads from a data source made for it, whose rows say what the tasks have written. That needs neither pandas
nor RDDs, so it is the same for classic sessions and for Spark Connect. What a task must know goes with the pickled
class, and so into no plan or log.
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
"""The name of the data source is the session's, or the server's: between registering it and running the job nobody else
may."""


class SparkWriters:
    """Used by several threads; a process has one job of it at a time, which takes all the room that there is."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """One for each task, in order. Raises the error of the first split that cannot be written, and what Spark
        raises for a task that failed again and again."""
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
        """Pickled by value, with its tasks."""

        @classmethod
        def name(cls) -> str:
            return _NAME

        def schema(self) -> str:
            return _SCHEMA

        def reader(self, schema: object) -> DataSourceReader:
            del schema
            return _Reader(tasks)

    return TieringSource
