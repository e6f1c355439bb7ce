"""What is asked of the planner: a range of one topic partition. Driver only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.time_bound import TimeBound


@dataclass(frozen=True, slots=True)
class RangeRequest:
    """The messages of a topic partition from `start` (inclusive) to `end` (exclusive) that lie in `window`."""

    partition: TopicPartition
    start: Position
    end: Position
    window: TimeWindow = ALL_TIMES
    keys: frozenset[bytes] | None = None
    """Of these, only messages whose `__key` is one of these."""
    skips_from_earliest: bool = False
    """A filter has moved `start` from earliest: what retention has removed in between is not missed."""
    first: Position | None = None
    """Where the first ledger of the topic partition begins, as its broker has told with the end; None: not told."""
    is_whole: bool = False
    """The caller has seen that nothing behind `start` is gone, or has told of it."""

    @property
    def from_earliest(self) -> bool:
        return self.start.is_earliest or self.skips_from_earliest

    @property
    def start_in_ledger(self) -> Position:
        """`start`; where that is earliest, and all there is up to the end lies in one ledger, the beginning of that."""
        if self.start.is_earliest and self.first is not None and self.first.ledger == self.end.ledger:
            # Ledgers are removed whole; a cursor may have been moved on in it.
            return Position(self.first.ledger, 0)
        return self.start

    def within(self, start: Position | None, end: Position | None) -> Self:
        """Without what lies outside of these, as its window of times has no messages there."""
        return replace(
            self,
            start=self.start if start is None else max(self.start, start),
            end=self.end if end is None else min(self.end, end),
            # What retention has removed before the first ledger in time is not missed either.
            skips_from_earliest=self.from_earliest,
        )

    def joined(self, behind: Self) -> Self:
        """One range of this one and the one behind it."""
        return replace(self, end=self.end if behind.is_empty else behind.end)

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end or self.window.is_empty


def whole_ranges(
    published_from: TimeBound,
    starts: Mapping[TopicPartition, Position],
    ends: Mapping[TopicPartition, Position],
) -> Iterator[RangeRequest]:
    """Yield the range of each topic partition that a query reads from earliest, with its bound of publish times.

    Args:
        published_from: The query reads no message that was published before it.
        starts: The start of the query; earliest where it has none.
        ends: The end of each range.

    """
    for partition, end in ends.items():
        if starts.get(partition, EARLIEST).is_earliest:
            window = TimeWindow(published_from=published_from.of(partition))
            yield RangeRequest(partition, EARLIEST, end, window)
