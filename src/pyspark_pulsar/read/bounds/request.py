"""Requests to the planner: ranges of topic partitions. Driver only."""

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
    """The messages of a topic partition from `start` (inclusive) to `end` (exclusive) that are in `window`."""

    partition: TopicPartition
    start: Position
    end: Position
    window: TimeWindow = ALL_TIMES
    keys: frozenset[bytes] | None = None
    """The keys to read: only messages whose `__key` is in this set. None means all messages."""
    skips_from_earliest: bool = False
    """True if a filter has moved `start` from `earliest`.

    Messages that were removed before `start` are then no loss.
    """
    first: Position | None = None
    """The start of the topic partition's first ledger, if the broker reported both this start and the end."""
    is_whole: bool = False
    """True if no message after `start` was removed, or if the caller has already reported the loss."""

    @property
    def from_earliest(self) -> bool:
        return self.start.is_earliest or self.skips_from_earliest

    @property
    def start_in_ledger(self) -> Position:
        """The start; for a range from `earliest` with only one ledger, the beginning of this ledger."""
        if self.start.is_earliest and self.first is not None and self.first.ledger == self.end.ledger:
            # The ledger exists from its first entry on, because retention removes only whole ledgers. But `first` is
            # the position of a cursor, which can be inside the ledger.
            return Position(self.first.ledger, 0)
        return self.start

    def within(self, start: Position | None, end: Position | None) -> Self:
        """Return the part of the range between these bounds.

        Outside of the bounds, the range must have no message in its time window.
        """
        return replace(
            self,
            start=self.start if start is None else max(self.start, start),
            end=self.end if end is None else min(self.end, end),
            # Messages that retention removed before the first ledger of the window are no loss, either.
            skips_from_earliest=self.from_earliest,
        )

    def joined(self, following: Self) -> Self:
        """Return the union of this range and the range `following`, which begins at the end of this range."""
        return replace(self, end=self.end if following.is_empty else following.end)

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end or self.window.is_empty


def whole_ranges(
    published_from: TimeBound,
    starts: Mapping[TopicPartition, Position],
    ends: Mapping[TopicPartition, Position],
) -> Iterator[RangeRequest]:
    """Yield the range of each topic partition that is read from `earliest`, limited by `published_from`.

    Args:
        published_from: The earliest publish time of a message that the query reads.
        starts: The starts of the query. A partition that is missing in `starts` is read from `earliest`.
        ends: The end of each range (exclusive).

    """
    for partition, end in ends.items():
        if starts.get(partition, EARLIEST).is_earliest:
            window = TimeWindow(published_from=published_from.time_of(partition))
            yield RangeRequest(partition, EARLIEST, end, window)
