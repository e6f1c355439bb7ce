"""A batch of which only so many rows are wanted: `LIMIT` of a query, as option `limit`.

Which entries hold the first rows is not known beforehand: those of aborted transactions and chunks give none, batches
many. So ranges stay whole, and a task ends when it has rows enough. Spark cuts what several tasks give.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.split import Split

ONE_TASK_ROWS: Final = 10_000
"""So few rows are read by one task, split after split; several would each read as many."""
_LEAST_AHEAD: Final = 100
"""Messages that the broker sends ahead for the smallest limit: some may give no row."""


def tasks_for_limit(tasks: Sequence[tuple[Split, ...]], options: ReadOptions) -> Sequence[tuple[Split, ...]]:
    """The tasks of a plan; one of them all for a small limit, none for no rows. Driver only."""
    if options.limit is None or options.limit > ONE_TASK_ROWS:
        return tasks
    splits = tuple(split for task in tasks for split in task) if options.limit else ()
    return [splits] if splits else []


def for_limit(options: ReadOptions) -> ReadOptions:
    """How a task reads that soon has rows enough: little ahead, in small batches. Executor only."""
    limit = options.limit
    if limit is None:
        return options
    ahead = min(options.receiver_queue_size, max(limit, _LEAST_AHEAD))
    rows = min(options.batch_rows, max(limit, 1))
    consumers = 1 if limit <= ONE_TASK_ROWS else options.consumers_per_split
    return replace(options, receiver_queue_size=ahead, batch_rows=rows, consumers_per_split=consumers)


def first_rows(batches: Generator[pa.RecordBatch, None, None], limit: int) -> Iterator[pa.RecordBatch]:
    """At most `limit` rows; then what gives them is closed. Executor only."""
    left = limit
    with closing(batches) as source:
        while left > 0 and (batch := next(source, None)) is not None:
            yield batch.slice(0, left)
            left -= batch.num_rows
