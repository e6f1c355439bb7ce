"""From splits to Spark's tasks: small splits of several topics go together. Driver only; no I/O.

A task costs its start, and each split in it a few requests to a broker: what is read of a small topic is less than
that. So a micro-batch over thousands of topics is read by tasks of many splits, which share the connections of one
worker. A split that is large, or of which nothing is known, stays a task of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.splits.key_ranges import BY_KEY
from pyspark_pulsar.read.split import ENTRY_BYTES, Split

LEAST_TASKS: Final = 32
"""Never fewer for want of size, so that a small cluster has work for all its cores ..."""
LEAST_OF_TINY: Final = 16
"""... but of tiny splits alone so many are enough, ..."""
TINY_IN_TASK: Final = 16
"""... or one for so many of them: they are read sooner than a further task begins."""
TASK_BYTES: Final = 8 << 20
"""A task takes further splits up to this size; about half a second of reading from one topic."""
OPEN_BYTES: Final = 128 << 10
"""What beginning with one more topic partition costs, as bytes that could be read in that time."""


def tasks_of(
    options: ReadOptions, splits: Sequence[Split], *, fewer_of_tiny: bool = False
) -> list[tuple[Split, ...]]:
    """The splits of each task: neighbours in the order of `splits`, which tasks keep.

    There are at least `minPartitions` tasks and at least `LEAST_TASKS`, as far as there are splits. `fewer_of_tiny`: of
    tiny ones `LEAST_OF_TINY` are enough; a batch is not waited for by the next one. Where options limit the messages of
    a task, or say which keys go to which one, each split is a task.
    """
    weights = [_weight(split) for split in splits]
    least = max(_least_tasks(weights) if fewer_of_tiny else LEAST_TASKS, options.min_partitions or 1)
    if len(splits) <= least or options.max_records_per_partition is not None or options.split_by == BY_KEY:
        return [(split,) for split in splits]
    most = float(min(TASK_BYTES, options.max_bytes_per_partition))
    return _grouped(splits, weights, _capacity(weights, least, most))


def _least_tasks(weights: Sequence[int | None]) -> int:
    tiny = sum(weight is not None and weight < 2 * OPEN_BYTES for weight in weights)
    return min(LEAST_TASKS, len(weights) - tiny + max(LEAST_OF_TINY, -(-tiny // TINY_IN_TASK)))


def _capacity(weights: Sequence[int | None], least: int, most: float) -> float:
    """What tasks of several splits may weigh, at most `most`, so that there are at least so many tasks.

    As many tasks as large splits and those of unknown size are, the others need not be. Which are large depends on the
    capacity: it only falls, so that at some time no further one is.
    """
    small = [weight for weight in weights if weight is not None]
    capacity, alone = most, weights.count(None)
    while small and alone < least:
        capacity = min(capacity, sum(small) / (least - alone))
        still = [weight for weight in small if weight < capacity]
        if len(still) == len(small):
            break
        alone += len(small) - len(still)
        small = still
    return capacity


def _grouped(
    splits: Sequence[Split], weights: Sequence[int | None], capacity: float
) -> list[tuple[Split, ...]]:
    tasks: list[list[Split]] = []
    room = 0.0
    for split, weight in zip(splits, weights, strict=True):
        if weight is None or weight > room:
            tasks.append([split])
            room = 0.0 if weight is None else capacity - weight
        else:
            tasks[-1].append(split)
            room -= weight
    return [tuple(task) for task in tasks]


def _weight(split: Split) -> int | None:
    """In bytes; None where nobody knows."""
    if split.size is not None:
        return OPEN_BYTES + split.size
    # A split from earliest may begin in a ledger that is known.
    start, end = split.ranges[0].start, split.end
    if start.ledger != end.ledger:
        return None
    return OPEN_BYTES + ENTRY_BYTES * (end.entry - start.entry + 1)
