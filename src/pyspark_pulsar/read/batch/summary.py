"""What a batch reads, in a few words and numbers for Spark's plans and UI. Driver only; no I/O.

A program of `spark.driver_process` besides: the JVM sends what it was given as the partitions of a read (u32 count,
then each with a u32 length, big endian), and is sent JSON (u32 length, UTF-8).
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Final

from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.spark.program_frames import frame, read_frame, read_number

_SHOWN: Final = 3


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Reads what this user's own driver has pickled, and nothing else."""
    inputs = [read_frame(requests) for _ in range(read_number(requests))]
    # Of a read without partitions Spark keeps a None.
    partitions = [pickle.loads(each) for each in inputs]  # noqa: S301
    told = json.dumps(summary([each.value for each in partitions if each is not None])).encode()
    answers.write(frame(told))


def summary(tasks: Sequence[Iterable[Split]]) -> dict[str, Any]:
    """`text`; `bytes`: stored, compressed where producers compress, None where ledgers are not known; `places`: how
    many ranges are read from each, by the words of `readFrom`."""
    splits = [split for task in tasks for split in task]
    counts = Counter(part.location.name for split in splits for part in split.ranges)
    places = ", ".join(f"{place} {count}" for place, count in sorted(counts.items()))
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
