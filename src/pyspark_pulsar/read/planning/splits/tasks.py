"""Assignment of splits to Spark's tasks: small splits of several topics share a task. Driver only; no I/O.

Starting a task is expensive, and each split needs a few requests to a broker. Reading a small topic costs less than the
start and the requests. So a micro-batch over thousands of topics has tasks with many splits, which share the
connections of one worker. A split that is large, or whose size is unknown, has a separate task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.splits.key_ranges import BY_KEY
from pyspark_pulsar.read.split import ENTRY_BYTES, Split

LEAST_TASKS: Final = 32
"""Minimum number of tasks before small splits share tasks, so that a small cluster has work for all its cores."""
LEAST_OF_TINY: Final = 16
"""Minimum number of tasks for tiny splits of a batch."""
TINY_IN_TASK: Final = 16
"""Maximum number of tiny splits of a batch in a shared task.

Reading 16 tiny splits is faster than starting another task.
"""
TASK_BYTES: Final = 8 << 20
"""Maximum size of a task with several splits: about half a second of reading from one topic."""
OPEN_BYTES: Final = 128 << 10
"""The cost of starting to read another topic partition, as the bytes that could be read in the same time."""


def tasks_of(
    options: ReadOptions, splits: Sequence[Split], *, fewer_of_tiny: bool = False
) -> list[tuple[Split, ...]]:
    """Return the splits of each task. A task's splits are neighbors in `splits`, in the same order.

    There are at least `minPartitions` and at least `LEAST_TASKS` tasks, if there are enough splits. Each split has a
    separate task if options limit the messages of a task, or assign keys to tasks.

    Args:
        options: The options of the read.
        splits: All splits of a plan.
        fewer_of_tiny: Whether only `LEAST_OF_TINY` tasks are needed for tiny splits. A batch passes true, because no
            later batch waits for its tasks.

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
    """Return the maximum weight of a task with several splits, so that there are at least `least` tasks.

    The result is at most `most`. Each large split and each split of unknown size has a separate task. The capacity
    determines which splits are large. Each round lowers the capacity, until no more splits become large.
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
    """Return the weight in bytes, or None if the size of the split is unknown."""
    if split.size is not None:
        return OPEN_BYTES + split.size
    # The first range of a split from `earliest` may begin in a known ledger.
    start, end = split.ranges[0].start, split.end
    if start.ledger != end.ledger:
        return None
    return OPEN_BYTES + ENTRY_BYTES * (end.entry - start.entry + 1)
