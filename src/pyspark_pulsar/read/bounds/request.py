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
    """If set, only messages whose `__key` is one of these."""
    skips_from_earliest: bool = False
    """True if a filter has moved `start` from earliest. Messages that retention removed before `start` are no loss."""
    first: Position | None = None
    """The start of the topic partition's first ledger, if the broker reported it together with the end."""
    is_whole: bool = False
    """True if the caller knows that no message after `start` was removed, or has reported the loss."""

    @property
    def from_earliest(self) -> bool:
        return self.start.is_earliest or self.skips_from_earliest

    @property
    def start_in_ledger(self) -> Position:
        """The `start`, or the beginning of the only ledger of a range from `earliest`."""
        if self.start.is_earliest and self.first is not None and self.first.ledger == self.end.ledger:
            # Retention removes whole ledgers, but a cursor may have advanced within the ledger.
            return Position(self.first.ledger, 0)
        return self.start

    def within(self, start: Position | None, end: Position | None) -> Self:
        """Return the range without the parts outside of these bounds, where its time window has no messages."""
        return replace(
            self,
            start=self.start if start is None else max(self.start, start),
            end=self.end if end is None else min(self.end, end),
            # Messages that retention removed before the first ledger of the window do not count as lost, either.
            skips_from_earliest=self.from_earliest,
        )

    def joined(self, following: Self) -> Self:
        """Return the union of this range and the one that follows it."""
        return replace(self, end=self.end if following.is_empty else following.end)

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end or self.window.is_empty


def whole_ranges(
    published_from: TimeBound,
    starts: Mapping[TopicPartition, Position],
    ends: Mapping[TopicPartition, Position],
) -> Iterator[RangeRequest]:
    """Yield the range of each topic partition that is read from `earliest`, with its bound of publish times.

    Args:
        published_from: The query reads no message that was published earlier.
        starts: The starts of the query; `earliest` for a partition that is missing here.
        ends: The end of each range.

    """
    for partition, end in ends.items():
        if starts.get(partition, EARLIEST).is_earliest:
            window = TimeWindow(published_from=published_from.time_of(partition))
            yield RangeRequest(partition, EARLIEST, end, window)
