"""The lag of a stream: the messages of its topic partitions that Spark has not committed. Driver only.

Spark's API for Python sources has no metrics. But a query's progress contains the result of `reportLatestOffset`, as
the JSON text `sources[].latestOffset`. So the JSON text contains the lag, besides the positions of the ends.

Positions do not determine the number of messages. Entries are counted from the ledgers that the admin REST API lists,
or within one ledger from the ids of the entries. The number of messages and bytes is estimated from the first unread
entry. The lag in seconds is computed from that entry's publish time.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.planning.ledgers.ledger_range import ledger_ranges
from pyspark_pulsar.read.sources.peek import FirstEntry
from pyspark_pulsar.runtime import time

_MOST_SECONDS: Final = 0.25
_AT_ONCE: Final = 8
"""Maximum number of topic partitions per group of requests.

The time limit of a trigger is checked only between two groups."""

FirstEntriesAt = Callable[[Positions], Mapping[TopicPartition, FirstEntry | None]]
PresentLedgers = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, tuple[Ledger, ...] | None]]

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of one topic partition, or the total of several. None means that a value is unknown.

    A total has the sum of the partitions' messages and bytes, and the maximum of their seconds.
    """

    messages: int | None = 0
    """Estimated number of messages. The number is exact if no message is in a batch or was written by a transaction."""
    bytes: int | None = 0
    """Estimated number of stored bytes. Replicas are not counted."""
    seconds: float | None = 0.0
    """The age of the oldest unread message, by its publish time."""

    def to_json(self) -> dict[str, Any]:
        seconds = None if self.seconds is None else round(self.seconds, 3)
        return {"messages": self.messages, "bytes": self.bytes, "seconds": seconds}


NONE: Final = Lag()
_UNKNOWN: Final = Lag(None, None, None)


@dataclass(frozen=True, slots=True)
class LagReport:
    """The lags of all topic partitions with unread messages, at one time."""

    measured_ms: int
    """Time of the last measurement, in Unix milliseconds."""
    lags: Mapping[TopicPartition, Lag]

    @property
    def total(self) -> Lag:
        seconds = [lag.seconds for lag in self.lags.values() if lag.seconds is not None]
        return Lag(
            _sum(lag.messages for lag in self.lags.values()),
            _sum(lag.bytes for lag in self.lags.values()),
            max(seconds) if seconds else (None if self.lags else 0.0),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "measuredAt": self.measured_ms,
            **self.total.to_json(),
            "partitions": {partition.name: lag.to_json() for partition, lag in sorted(self.lags.items())},
        }


class LagWatch:
    """The measurement of a query's lag at each trigger. Used by one thread.

    The watch measures each topic partition at most once per `interval_seconds`. The watch uses about a quarter of a
    second per trigger, so that triggers stay short.
    """

    def __init__(
        self,
        first_entries: FirstEntriesAt,
        present_ledgers: PresentLedgers,
        interval_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Store the arguments.

        If `first_entries` or `present_ledgers` raises an error for a partition, the lag of that partition is unknown.
        Each class of error is logged once.

        Args:
            first_entries: Returns the first entry at or after each position.
            present_ledgers: Returns all ledgers of each partition, or None if the ledgers are unknown.
            interval_seconds: Minimum time between two measurements of a partition.
            clock: Returns monotonic seconds.
            wall_clock: Returns Unix seconds.

        """
        self._first_entries = first_entries
        self._present_ledgers = present_ledgers
        self._interval = interval_seconds
        self._clock, self._wall_clock = clock, wall_clock
        self._measured: dict[TopicPartition, tuple[float, Lag]] = {}
        self._measured_ms = 0
        self._warned: set[str] = set()

    def measure(self, committed: Positions, ends: Positions) -> LagReport:
        """Return the lag of the query, from the positions `committed` to the positions `ends`.

        The set of lagging partitions is always current. The size of each lag may be as old as the interval.

        Args:
            committed: The positions of the query, either now or after the present micro-batch.
            ends: The end of each topic partition.

        """
        lagging = [partition for partition, end in ends.items() if committed.get(partition, EARLIEST) < end]
        self._measure_due(lagging, committed, ends)
        if not lagging:
            self._measured_ms = self._now_ms()
        known = self._measured
        lags = {partition: known[partition][1] if partition in known else _UNKNOWN for partition in lagging}
        return LagReport(self._measured_ms, lags)

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)

    def _measure_due(self, lagging: list[TopicPartition], committed: Positions, ends: Positions) -> None:
        """Measure the due partitions, those measured longest ago first, until the time limit of a trigger."""
        now = self._clock()
        measured = {
            partition: self._measured[partition][0] if partition in self._measured else -math.inf
            for partition in lagging
        }
        due = sorted(
            (partition for partition in lagging if measured[partition] + self._interval <= now),
            key=lambda partition: (measured[partition], partition),
        )
        groups = deque(due[begin : begin + _AT_ONCE] for begin in range(0, len(due), _AT_ONCE))
        while groups and self._clock() <= now + _MOST_SECONDS:
            group = groups.popleft()
            starts = {partition: committed.get(partition, EARLIEST) for partition in group}
            try:
                lags = self._lags(starts, ends)
            except PulsarError as fault:
                if len(group) > 1:
                    # Measure the partitions one by one, so that a failure of one partition does not affect the others.
                    groups.extendleft([partition] for partition in reversed(group))
                    continue
                self._warn(fault)
                lags = dict.fromkeys(group, _UNKNOWN)
            self._measured |= {partition: (self._clock(), lag) for partition, lag in lags.items()}
            self._measured_ms = self._now_ms()

    def _lags(self, starts: Positions, ends: Positions) -> dict[TopicPartition, Lag]:
        firsts, ledgers = self._first_entries(starts), self._present_ledgers(starts)
        return {
            partition: measured_lag(
                firsts[partition], ledgers[partition], start, ends[partition], self._now_ms()
            )
            for partition, start in starts.items()
        }

    def _warn(self, fault: PulsarError) -> None:
        if type(fault).__name__ not in self._warned:
            self._warned.add(type(fault).__name__)
            _log.warning("measuring the query's lag failed for some topic partitions: %s", fault)


def is_at_end(committed: Positions, ends: Positions) -> bool:
    """Return whether all partitions are committed up to their ends."""
    return all(committed.get(partition, EARLIEST) >= end for partition, end in ends.items())


def measured_lag(
    first: FirstEntry | None, ledgers: tuple[Ledger, ...] | None, start: Position, end: Position, now_ms: int
) -> Lag:
    """Return the lag of a query at `start`, which is before `end`.

    `first` is the first entry at or after `start` that still exists; None if this entry is unknown.
    """
    if first is not None:
        if first.position >= end:
            # Retention has removed the remaining entries, or only markers of transactions remain.
            return NONE
        start = max(start, first.position)
    parts = ledger_ranges(ledgers, start, end)
    is_known = all(part.ledger is not None or part.start.ledger == part.end.ledger for part in parts)
    seconds = None
    if first is not None and first.published_ms is not None:
        seconds = max(0, now_ms - first.published_ms) / 1000
    if not is_known or first is None:
        return Lag(None, None, seconds)
    entries = sum(part.entries for part in parts)
    inside = start.batch_index if start.batch_index < first.messages else 0
    messages = max(1, entries * first.messages - inside)
    size = sum(part.entries * (part.entry_bytes or first.bytes) for part in parts)
    return Lag(messages, round(size), seconds)


def _sum(numbers: Any) -> int | None:
    known = list(numbers)
    return None if None in known else sum(known)
