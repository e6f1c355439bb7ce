"""Where splits are written to data files: processes of this machine (or tasks of a Spark job, `spark_writers`).

A split is written by one call of `write_split`, wherever that is: the product's own reader reads it, and a
`DataFileWriter` in the same process writes its rows. What comes back are names and footers.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from pyspark_pulsar.codec.decode import ChunkedMessages
from pyspark_pulsar.columnar.layout import FileLayout
from pyspark_pulsar.columnar.storage import TableStorage
from pyspark_pulsar.columnar.writing.writer import DataFileWriter, WrittenFile
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.reader import read_split
from pyspark_pulsar.schema.read_schema import ReadSchema


@dataclass(frozen=True, slots=True)
class WriteTask:
    """One split to be written. Picklable; holds secrets, and shows none."""

    options: ReadOptions
    schema: ReadSchema
    split: Split
    layout: FileLayout
    storage: TableStorage


@dataclass(frozen=True, slots=True)
class WrittenSplit:
    """What became of one. Picklable."""

    files: tuple[WrittenFile, ...]
    chunked: ChunkedMessages


def write_split(task: WriteTask) -> WrittenSplit:
    """Raises what `read_split` and `DataFileWriter.write` raise."""
    writer, chunked = DataFileWriter(task.layout, task.storage, task.split.partition), ChunkedMessages()
    rows = read_split(task.options, task.schema, task.split, chunked=chunked)
    return WrittenSplit(tuple(writer.write(rows)), chunked)


class Writers(Protocol):
    """Writes splits. Used by several threads, each with tasks of its own topic."""

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """One for each task, in order; or an error: that of the first task that failed."""


class ProcessWriters:
    """Some processes of this machine; with one, the caller's own."""

    def __init__(self, processes: int) -> None:
        # A copy of a process with threads may hold their locks for ever.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(processes, mp_context=context) if processes > 1 else None

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        return list(map(write_split, tasks) if self._pool is None else self._pool.map(write_split, tasks))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
