"""Where splits are written to data files: processes of this machine (or tasks of a Spark job, `spark_writers`).

A split is written by one call of `write_split`, wherever that is: the product's own reader reads it, and a
`DataFileWriter` in the same process writes its rows. What comes back are names and footers.
"""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from pyspark_pulsar.codec.decode import ChunkedMessages
from pyspark_pulsar.errors import PulsarError, WriterKilled
from pyspark_pulsar.history.columnar.layout import FileLayout
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.writing.writer import DataFileWriter, WrittenFile
from pyspark_pulsar.history.tiering.faults import topic_fault
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.split_reader import read_split
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
    """Write the rows of a split to data files.

    Raises:
        TieringFailed: An error that is none of ours; the process that wrote may be another one, and some errors of
            libraries cannot be pickled.
        PulsarError: What `read_split` and `DataFileWriter.write` raise.

    """
    split = task.split
    try:
        writer, chunked = DataFileWriter(task.layout, task.storage, split.partition), ChunkedMessages()
        rows = read_split(task.options, task.schema, split, chunked=chunked)
        return WrittenSplit(tuple(writer.write(rows)), chunked)
    except PulsarError:
        raise
    except Exception as fault:  # noqa: BLE001 - it is named, and pickled by a process
        where = f"{split.partition}, from {split.start} up to {split.end}"
        raise topic_fault(where, fault, dict(task.storage.settings)) from None


class Writers(Protocol):
    """Writes splits. Used by several threads, each with tasks of its own topic."""

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """One for each task, in order; or an error: that of the first task that failed."""


class ProcessWriters:
    """Some processes of this machine; with one, the caller's own.

    Each process is a pool of its own, since a pool fails as a whole when one of its processes is killed.
    """

    def __init__(self, processes: int) -> None:
        count = processes if processes > 1 else 0
        self._free: queue.SimpleQueue[ProcessPoolExecutor] = queue.SimpleQueue()
        for _ in range(count):
            self._free.put(_process())
        self._count = count
        # Each thread waits for one process.
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="writers") if count else None

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """Write each task; see `Writers`. Raises `WriterKilled` for a task whose process was killed over it."""
        return list(
            map(write_split, tasks) if self._threads is None else self._threads.map(self._write, tasks)
        )

    def _write(self, task: WriteTask) -> WrittenSplit:
        process = self._free.get()
        try:
            return process.submit(write_split, task).result()
        except BrokenExecutor:
            process = _process()
            split = task.split
            raise WriterKilled(
                f"{split.partition}, from {split.start} up to {split.end}: expected a process of this machine to write "
                f"the data files, but the process was killed; nothing of this round is committed. Run it again; if "
                f"the machine ran out of memory, use fewer --processes"
            ) from None
        finally:
            self._free.put(process)

    def close(self) -> None:
        """End the processes. Tasks that have not begun are not written."""
        if self._threads is None:
            return
        self._threads.shutdown(cancel_futures=True)
        for _ in range(self._count):
            self._free.get().shutdown()


def _process() -> ProcessPoolExecutor:
    """Return one process, which starts with its first task."""
    # A copy of a process with threads may hold their locks for ever.
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
