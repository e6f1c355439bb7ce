"""Where a stream's next micro-batch ends: at what is there now, or before that, as options say. Driver only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from pyspark_pulsar.codec.backlog import UNLIMITED
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.timestamps import TimeBound, Window
from pyspark_pulsar.read.microbatch.admission import Allowance, Demand, admit, share_out
from pyspark_pulsar.read.microbatch.backlog_counter import BacklogCounter, PublishedFrom
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.planning.ledger_range import ledger_ranges
from pyspark_pulsar.read.planning.ledgers import TopicLedgers
from pyspark_pulsar.topic import TopicPartition


class Ledgers(Protocol):
    """What `read.plan.SplitPlanner` knows of ledgers."""

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        """As they were last seen; they need not be those of now."""

    def first_in_time(self, asked: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Where what is asked for begins at the earliest, by its window."""


_UNKNOWN: Final = -1.0


class MicroBatches:
    """Used by one thread in the driver process of a query."""

    def __init__(
        self,
        options: ReadOptions,
        ledgers: Ledgers,
        clock: Callable[[], float] = time.monotonic,
        make_scout: Callable[[ReadOptions, PublishedFrom], BacklogCounter] = BacklogCounter,
    ) -> None:
        """`clock`: seconds."""
        self._options = options
        self._ledgers = ledgers
        self._clock = clock
        self._make_scout = make_scout
        self._scout: BacklogCounter | None = None
        self._turn = 0
        self._last: float | None = None
        """When a micro-batch was let through."""

    def admitted(self, former: StreamOffset, reached: StreamOffset, *, waits: bool) -> StreamOffset:
        """As much of what lies between `former` and `reached` as the next micro-batch takes; `former` for not now.

        `waits`: the limits below apply to it, not only those above. Raises the errors of `BacklogCounter.measure`.
        """
        scout = self._scout_of(former.published_from)
        starts = {partition: reached.start_of(partition, former) for partition in reached.positions}
        scout.forget_before(starts)
        begins = starts | self._begins_in_time(starts, reached)
        demands = self._demands(begins, reached.positions, scout)
        if not demands:
            return reached
        now = self._clock()
        if waits and self._is_too_early(now) and self._is_too_little(demands, scout):
            return replace(former, starts={})
        self._last = now
        self._turn += 1
        options = self._options
        allowance = Allowance(
            options.max_records_per_trigger or UNLIMITED, options.max_bytes_per_trigger or UNLIMITED
        )
        if allowance == Allowance():
            return reached
        taken = admit(demands, allowance, scout.measure, self._turn)
        hungry = [each for each in demands if taken.ends[each.partition] < each.end]
        scout.look_ahead(share_out(hungry, taken.ends, allowance))
        return replace(reached, positions={**reached.positions, **taken.ends})

    def close(self) -> None:
        if self._scout is not None:
            self._scout.close()

    def _scout_of(self, published_from: TimeBound | None) -> BacklogCounter:
        """The same for the whole life of a query, as its time is."""
        if self._scout is None:
            self._scout = self._make_scout(
                self._options, lambda partition: published_from.of(partition) if published_from else None
            )
        return self._scout

    def _begins_in_time(
        self, starts: Mapping[TopicPartition, Position], reached: StreamOffset
    ) -> dict[TopicPartition, Position]:
        """Of topic partitions that are read from their first message on: what lies before the query's time is not
        counted, which would take as long as to read it."""
        time = reached.published_from
        if time is None:
            return {}
        return self._ledgers.first_in_time(
            RangeRequest(partition, starts[partition], end, Window(from_ms=time.of(partition)))
            for partition, end in reached.positions.items()
            if starts[partition].is_earliest
        )

    def _is_too_early(self, now: float) -> bool:
        return self._last is not None and now - self._last < self._options.max_trigger_delay_ms / 1000

    def _is_too_little(self, demands: list[Demand], scout: BacklogCounter) -> bool:
        least = self._options.min_offsets_per_trigger
        return least is not None and admit(demands, Allowance(least), scout.measure).records < least

    def _demands(
        self,
        starts: Mapping[TopicPartition, Position],
        ends: Mapping[TopicPartition, Position],
        scout: BacklogCounter,
    ) -> list[Demand]:
        found = {
            partition: self._entries(partition, starts[partition], end)
            for partition, end in sorted(ends.items())
            if starts[partition] < end
        }
        weights = {
            partition: entries * scout.entry_records(partition)
            for partition, entries in found.items()
            if entries != _UNKNOWN
        }
        # Of what reaches over ledgers that nobody listed, as much may wait as of any other.
        usual = max(weights.values(), default=1.0)
        return [
            Demand(partition, starts[partition], ends[partition], weights.get(partition, usual))
            for partition in found
        ]

    def _entries(self, partition: TopicPartition, start: Position, end: Position) -> float:
        """About how many; `_UNKNOWN` where nothing tells."""
        if start.ledger == end.ledger:
            return float(max(1, end.entry - start.entry))
        known = self._ledgers.known_ledgers(partition)
        if known is None:
            return _UNKNOWN
        return float(max(1, sum(each.entries for each in ledger_ranges(known.ledgers, start, end))))
