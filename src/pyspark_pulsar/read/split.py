"""Splits: what one Spark task reads, and from which locations. The driver creates them and pickles them."""

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
"""Assumed entry size when the ledgers are unknown. It is larger than a typical producer's batch."""


@dataclass(frozen=True, slots=True)
class SplitRange:
    """A part of a split in one location: from `start` (inclusive) to `end` (exclusive).

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
    """The parts to read: at least one, in order, without a gap or an overlap."""
    window: TimeWindow = ALL_TIMES
    """Only messages in this window are read."""
    from_earliest: bool = False
    """True if the whole range begins at `earliest` or at a time.

    If retention removed the first chunks of a message, the message is then not lost.
    """
    keys: frozenset[bytes] | None = None
    """Only messages with one of these values of `__key` are read. None means all messages."""
    slots: tuple[int, int] | None = None
    """Only messages with a key in these hash slots are read (`codec.row_filter`). None means all messages."""
    size: int | None = None
    """Bytes, estimated from the mean size of its ledgers' entries or its files' rows; None if unknown."""


def ranges_by_place(splits: Iterable[Split]) -> dict[str, int]:
    """Return the number of ranges that are read from each location, sorted by the location's name."""
    counts = Counter(part.location.name for split in splits for part in split.ranges)
    return dict(sorted(counts.items()))


def places_text(counts: dict[str, int]) -> str:
    """Return the counts of `ranges_by_place` as text: `bookie 3, broker 1`."""
    return ", ".join(f"{place} {count}" for place, count in counts.items())
