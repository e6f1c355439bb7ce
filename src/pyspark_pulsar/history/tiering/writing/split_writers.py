"""Writers that write splits in processes of this machine, and the protocol of all writers (see also `spark_writers`).

One call of `write_split` writes one split, and can run in any process. The reader of this package reads the split, and
a `DataFileWriter` in the same process writes the rows. The result contains the names and footers of the files.
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
    """A split to write. Picklable; `repr` shows no secrets."""

    options: ReadOptions
    schema: ReadSchema
    split: Split
    layout: FileLayout
    storage: TableStorage


@dataclass(frozen=True, slots=True)
class WrittenSplit:
    """The result of writing a split. Picklable."""

    files: tuple[WrittenFile, ...]
    chunked: ChunkedMessages


def write_split(task: WriteTask) -> WrittenSplit:
    """Write the rows of a split to data files.

    Raises:
        TieringFailed: Another library raised an error. The error is converted, because some errors cannot be pickled.
        PulsarError: The errors of `read_split` and `DataFileWriter.write`.

    """
    split = task.split
    try:
        writer, chunked = DataFileWriter(task.layout, task.storage, split.partition), ChunkedMessages()
        rows = read_split(task.options, task.schema, split, chunked=chunked)
        return WrittenSplit(tuple(writer.write(rows)), chunked)
    except PulsarError:
        raise
    except Exception as fault:  # noqa: BLE001 - the error is converted, because the process pickles it
        where = f"{split.partition}, from {split.start} up to {split.end}"
        raise topic_fault(where, fault, dict(task.storage.settings)) from None


class Writers(Protocol):
    """A writer of splits. Several threads can use one object, and each call has the tasks of one topic."""

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """Write the splits, and return the results in the order of the tasks.

        Raises:
            PulsarError: The error of the first task that failed.

        """


class ProcessWriters:
    """A set of writers in `processes` processes of this machine. If `processes` is 1, the caller's process writes.

    Each process has a separate pool, because if one process of a pool is killed, all processes of the pool fail.
    """

    def __init__(self, processes: int) -> None:
        count = processes if processes > 1 else 0
        self._free: queue.SimpleQueue[ProcessPoolExecutor] = queue.SimpleQueue()
        for _ in range(count):
            self._free.put(_start_process())
        self._count = count
        # Each thread waits for the result of one process.
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="writers") if count else None

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        """Write the splits, as in `Writers.write`. Raises `WriterKilled` if the process of a task was killed."""
        return list(
            map(write_split, tasks) if self._threads is None else self._threads.map(self._write, tasks)
        )

    def _write(self, task: WriteTask) -> WrittenSplit:
        process = self._free.get()
        try:
            return process.submit(write_split, task).result()
        except BrokenExecutor:
            process = _start_process()
            split = task.split
            raise WriterKilled(
                f"{split.partition}, from {split.start} up to {split.end}: expected a process of this machine to write "
                f"the data files, but the process was killed. This round is not committed; run tiering again, with "
                f"fewer --processes if the machine ran out of memory"
            ) from None
        finally:
            self._free.put(process)

    def close(self) -> None:
        """End the processes. Tasks that have not started are canceled."""
        if self._threads is None:
            return
        self._threads.shutdown(cancel_futures=True)
        for _ in range(self._count):
            self._free.get().shutdown()


def _start_process() -> ProcessPoolExecutor:
    """Return a pool of one process. The process starts when the pool gets its first task."""
    # The process is not forked, because a forked process copies locks that threads of the parent hold. No thread of the
    # forked process would release these locks.
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
