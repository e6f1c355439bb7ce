"""Batch reads with a limit. The `LIMIT` of a query arrives as option `limit`.

The driver cannot know which entries contain the first rows. Some entries contain no row (aborted transactions, chunks),
and batches contain many rows. So ranges are not shortened, and each task ends when it has enough rows. Spark then
limits the rows of several tasks together.
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
"""Maximum limit for which one task reads all splits. Each of several tasks would read up to `limit` rows."""
_LEAST_AHEAD: Final = 100
"""Minimum number of messages that the broker sends in advance for a small limit. Some messages may return no row."""


def tasks_for_limit(tasks: Sequence[tuple[Split, ...]], options: ReadOptions) -> Sequence[tuple[Split, ...]]:
    """Return the tasks for a limit: one task with all splits for a small limit, no task for limit 0. Driver only."""
    if options.limit is None or options.limit > ONE_TASK_ROWS:
        return tasks
    splits = tuple(split for task in tasks for split in task) if options.limit else ()
    return [splits] if splits else []


def options_for_limit(options: ReadOptions) -> ReadOptions:
    """Return the options of a task that ends after a few rows: small batches, and few messages in advance.

    Executor only.
    """
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
