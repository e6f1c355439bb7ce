"""Splits: the ranges that one Spark task reads, and their locations. The driver creates splits and pickles them."""

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
"""Assumed entry size when the ledgers are unknown. This size is larger than a typical producer's batch."""


@dataclass(frozen=True, slots=True)
class SplitRange:
    """The part of a split that is read from one location, from `start` (inclusive) to `end` (exclusive).

    For every location except the broker, both positions are in the same ledger.
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
    """The parts to read, in order, without a gap or an overlap. There is at least one part."""
    window: TimeWindow = ALL_TIMES
    """The window of publish times. The split reads only messages in this window."""
    from_earliest: bool = False
    """True if the query's whole range begins at `earliest` or at a time.

    Then a message whose first chunks were removed by retention is not a loss.
    """
    keys: frozenset[bytes] | None = None
    """The keys to read: the split reads only messages whose `__key` is in this set. None means all messages."""
    slots: tuple[int, int] | None = None
    """The hash slots to read (`codec.row_filter`): the split reads only messages whose key is in these slots.

    None means all slots.
    """
    size: int | None = None
    """The size in bytes, estimated from the mean size of the ledgers' entries or the files' rows; None if unknown."""


def ranges_by_place(splits: Iterable[Split]) -> dict[str, int]:
    """Return the number of ranges that are read from each location, sorted by the location's name."""
    counts = Counter(part.location.name for split in splits for part in split.ranges)
    return dict(sorted(counts.items()))


def places_text(counts: dict[str, int]) -> str:
    """Return the counts of `ranges_by_place` as text, for example `bookie 3, broker 1`."""
    return ", ".join(f"{place} {count}" for place, count in counts.items())
