"""Splits: what one Spark task reads, and from where. Made on the driver, pickled to executors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.location import Location

ENTRY_BYTES: Final = 16 << 10
"""Taken for the size of an entry where ledgers are not known: a batch of an ordinary producer is smaller."""


@dataclass(frozen=True, slots=True)
class SplitRange:
    """A part of a split that lies in one place: from `start` (inclusive) to `end` (exclusive).

    From anywhere but the broker, both lie in one ledger.
    """

    start: Position
    end: Position
    location: Location


@dataclass(frozen=True, slots=True)
class Split:
    """The messages of one topic partition from `start` (inclusive) to `end` (exclusive)."""

    partition: TopicPartition
    start: Position
    end: Position
    ranges: tuple[SplitRange, ...]
    """At least one: in order, without gap or overlap, they are what is to be read."""
    window: TimeWindow = ALL_TIMES
    """Of these messages, only those that lie in it."""
    from_earliest: bool = False
    """Whether the range that this is a part of begins at earliest (or at a time): a message of which retention has
    removed the first chunks is then no loss."""
    keys: frozenset[bytes] | None = None
    """Of these messages, only those whose `__key` is one of these."""
    slots: tuple[int, int] | None = None
    """Of these messages, only those whose key lies in these hash slots (`codec.row_filter`)."""
    size: int | None = None
    """Bytes, by the mean size of its ledgers' entries or of its files' rows; None where it is not known."""


def ranges_by_place(splits: Iterable[Split]) -> dict[str, int]:
    """Return the number of ranges that are read from each place, by the name of its `Location`, sorted."""
    counts = Counter(part.location.name for split in splits for part in split.ranges)
    return dict(sorted(counts.items()))


def places_text(counts: dict[str, int]) -> str:
    """Return the counts of `ranges_by_place` as text: `bookie 3, broker 1`."""
    return ", ".join(f"{place} {count}" for place, count in counts.items())
