"""Batch reads with a limit: the `LIMIT` of a query arrives as option `limit`.

The driver cannot know which entries contain the first rows. Entries of aborted transactions and chunks may return no
rows, and batches return many. So ranges stay whole, and each task ends when it has enough rows. Spark cuts the rows of
several tasks.
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
"""Up to this limit one task reads all splits, because each of several tasks would read as many rows."""
_LEAST_AHEAD: Final = 100
"""Messages that the broker sends ahead at the smallest limit, because some may return no row."""


def tasks_for_limit(tasks: Sequence[tuple[Split, ...]], options: ReadOptions) -> Sequence[tuple[Split, ...]]:
    """Return the tasks for a limit: one task of all splits for a small limit, no task for 0. Driver only."""
    if options.limit is None or options.limit > ONE_TASK_ROWS:
        return tasks
    splits = tuple(split for task in tasks for split in task) if options.limit else ()
    return [splits] if splits else []


def options_for_limit(options: ReadOptions) -> ReadOptions:
    """Return the options of a task that ends after a few rows: small batches and few messages ahead. Executor only."""
    limit = options.limit
    if limit is None:
        return options
    ahead = min(options.receiver_queue_size, max(limit, _LEAST_AHEAD))
    rows = min(options.batch_rows, max(limit, 1))
    consumers = 1 if limit <= ONE_TASK_ROWS else options.consumers_per_split
    return replace(options, receiver_queue_size=ahead, batch_rows=rows, consumers_per_split=consumers)


def first_rows(batches: Generator[pa.RecordBatch, None, None], limit: int) -> Iterator[pa.RecordBatch]:
    """Yield at most `limit` rows, and then close `batches`. Executor only."""
    left = limit
    with closing(batches) as source:
        while left > 0 and (batch := next(source, None)) is not None:
            yield batch.slice(0, left)
            left -= batch.num_rows
