"""What is asked of the planner: a range of one topic partition. Driver only."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.position import Position
from pyspark_pulsar.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.topic import TopicPartition


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
            return self.first
        return self.start

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end or self.window.is_empty
