"""A short summary of a batch read for Spark's plans and UI. Driver only; no I/O.

The JVM calls `summary_of` through `spark.driver_process`. The JVM passes the partitions that it received for a read.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.split import Split, places_text, ranges_by_place
from pyspark_pulsar.spark.frames import unpacked

_SHOWN: Final = 3


def summary_of(partitions: bytes) -> dict[str, Any]:
    """Return the summary of a read. `partitions` are its pickled and packed partitions (`spark.frames.packed`).

    The function unpickles only data that this user's own driver has pickled.
    """
    # Spark runs a read without partitions as one task, whose partition is None.
    loaded = [pickle.loads(each) for each in unpacked(partitions)]  # noqa: S301
    return summary([each.value for each in loaded if each is not None])


def summary(tasks: Sequence[Iterable[Split]]) -> dict[str, Any]:
    """Return a dictionary with the keys `text`, `bytes` and `places` for the tasks of a read.

    `bytes` is the number of stored, compressed bytes, or None if the number is unknown. `places` is a text with the
    number of ranges for each location, such as `bookie 3, broker 1`.
    """
    splits = [split for task in tasks for split in task]
    places = places_text(ranges_by_place(splits))
    sizes = [split.size for split in splits]
    return {
        "text": _text(splits, len(tasks), places),
        "bytes": None if None in sizes else sum(size or 0 for size in sizes),
        "places": places,
    }


def _text(splits: Sequence[Split], tasks: int, places: str) -> str:
    if not splits:
        return "nothing to read"
    ends: dict[TopicPartition, Split] = {}
    starts: dict[TopicPartition, Split] = {}
    for split in splits:
        starts.setdefault(split.partition, split)
        ends[split.partition] = split
    shown = [
        f"{partition.as_topic.local} {starts[partition].start} to {ends[partition].end}"
        for partition in list(starts)[:_SHOWN]
    ]
    more = [f"{len(starts) - _SHOWN} more"] if len(starts) > _SHOWN else []
    return f"{_count(len(starts), 'partition')} in {_count(tasks, 'task')}: {', '.join([*shown, *more])}; from {places}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
