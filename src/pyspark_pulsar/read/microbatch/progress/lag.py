"""How far a stream is behind: what its topic partitions hold that Spark has not committed. Driver only.

Spark's API for Python sources has no metrics; what `reportLatestOffset` gives reaches the user as the JSON text
`sources[].latestOffset` of a query's progress. So the lag travels there, beside the positions of the ends.

Positions count no messages. Entries are counted by the ledgers that the admin REST API lists (or within one ledger
by their ids), and messages and bytes are estimated from the first unread entry, whose publish time gives the seconds.
"""

from __future__ import annotations

import logging
import math
import time
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

_MOST_SECONDS: Final = 0.25
_AT_ONCE: Final = 8
"""So many topic partitions are asked together: how long that takes is only known when all have answered."""

FirstEntriesAt = Callable[[Positions], Mapping[TopicPartition, FirstEntry | None]]
PresentLedgers = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, tuple[Ledger, ...] | None]]

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lag:
    """Of one topic partition, or the sum of several (the seconds: of the worst). None is not known."""

    messages: int | None = 0
    """About; exact where no message is batched and none was written by a transaction."""
    bytes: int | None = 0
    """About; as stored, without replicas."""
    seconds: float | None = 0.0
    """The age of the oldest message, by its publish time."""

    def to_json(self) -> dict[str, Any]:
        seconds = None if self.seconds is None else round(self.seconds, 3)
        return {"messages": self.messages, "bytes": self.bytes, "seconds": seconds}


NONE: Final = Lag()
_UNKNOWN: Final = Lag(None, None, None)


@dataclass(frozen=True, slots=True)
class LagReport:
    """At one time, of the partitions that are behind."""

    measured_ms: int
    """Unix milliseconds."""
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
    """Used by one thread, once for each trigger. Measures a topic partition at most each `interval_seconds`, and for
    about a quarter of a second of a trigger, so that triggers stay short."""

    def __init__(
        self,
        first_entries: FirstEntriesAt,
        present_ledgers: PresentLedgers,
        interval_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`first_entries`: the first entry at each position or behind it. `present_ledgers`: all of each partition,
        None where they are not known. What either raises of a partition makes its lag unknown, and is logged once.
        """
        self._first_entries = first_entries
        self._present_ledgers = present_ledgers
        self._interval = interval_seconds
        self._clock, self._wall_clock = clock, wall_clock
        self._measured: dict[TopicPartition, tuple[float, Lag]] = {}
        self._measured_ms = 0
        self._warned: set[str] = set()

    def measure(self, committed: Positions, ends: Positions) -> LagReport:
        """Return the lag between `committed`, where a query is or will be, and `ends`.

        Which partitions are behind is always the present; how far is as old as the interval.
        """
        behind = [partition for partition, end in ends.items() if committed.get(partition, EARLIEST) < end]
        self._measure_due(behind, committed, ends)
        if not behind:
            self._measured_ms = self._now_ms()
        known = self._measured
        lags = {partition: known[partition][1] if partition in known else _UNKNOWN for partition in behind}
        return LagReport(self._measured_ms, lags)

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)

    def _measure_due(self, behind: list[TopicPartition], committed: Positions, ends: Positions) -> None:
        """Those whose turn it is and that there is time for, the longest not measured first."""
        now = self._clock()
        measured = {
            partition: self._measured[partition][0] if partition in self._measured else -math.inf
            for partition in behind
        }
        due = sorted(
            (partition for partition in behind if measured[partition] + self._interval <= now),
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
                    # So that the others are known in spite of the one that does not answer.
                    groups.extendleft([partition] for partition in reversed(group))
                    continue
                self._tell(fault)
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

    def _tell(self, fault: PulsarError) -> None:
        if type(fault).__name__ not in self._warned:
            self._warned.add(type(fault).__name__)
            _log.warning("how far the query is behind is not known for all topic partitions: %s", fault)


def is_at_end(committed: Positions, ends: Positions) -> bool:
    """Return whether no partition has messages after its committed position."""
    return all(committed.get(partition, EARLIEST) >= end for partition, end in ends.items())


def measured_lag(
    first: FirstEntry | None, ledgers: tuple[Ledger, ...] | None, start: Position, end: Position, now_ms: int
) -> Lag:
    """The lag of a query that stands at `start`, which is before `end`, given the first entry that is left."""
    if first is not None:
        if first.position >= end:
            # Retention has removed the rest, or markers of transactions are all that is left.
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
