"""Where a stream's next micro-batch ends: at what is there now, or before that, as the options of triggers say. Driver
only.

    option                     what it does at a trigger
    none                       all that is there is taken; nothing is counted
    minOffsetsPerTrigger       less than this waits: no micro-batch now, unless `maxTriggerDelay` is over
    maxRecordsPerTrigger       at most so many messages, and exactly so many while more wait
    maxBytesPerTrigger         at most so many stored bytes, but one message at least

The delay begins with the last micro-batch that was let through; so the first trigger of a start never waits. Neither
does `Trigger.AvailableNow`, which must come to its end. The least is counted as exactly as the most: it is `admit` with
the least as its allowance.

The most is shared among topic partitions by the messages that wait in each (`allowance`). About how many that are, is
estimated without I/O: entries times the messages in an entry of what was counted before. Entries are counted by ids
within one ledger, and by the ledgers that a planner knows across several. Where nothing tells, a partition weighs as
much as the heaviest other one. A wrong estimate makes a micro-batch less even, and never larger.

Each trigger works in this order: forget what is read; begin behind what the query's time leaves out, which would take
as long to count as to read; weigh the demands; wait or admit; count ahead what is left for the next micro-batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from pyspark_pulsar.codec.backlog import UNLIMITED
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.bounds.request import RangeRequest, whole_ranges
from pyspark_pulsar.read.microbatch.admission.allowance import Allowance, Demand, admit, share_out
from pyspark_pulsar.read.microbatch.admission.backlog_counter import BacklogCounter, PublishedFrom
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.planning.ledgers.ledger_range import ledger_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.tables.known_tables import KnownTables


class LedgerView(Protocol):
    """What `read.planning.planner.SplitPlanner` knows of ledgers."""

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        """As they were last seen; they need not be those of now."""

    def first_in_time(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Where the messages of each request begin at the earliest, by its window."""


class MicroBatches:
    """Used by one thread in the driver process of a query."""

    def __init__(
        self,
        options: ReadOptions,
        ledgers: LedgerView,
        clock: Callable[[], float] = time.monotonic,
        make_counter: Callable[[ReadOptions, PublishedFrom], BacklogCounter] = BacklogCounter,
    ) -> None:
        """`clock`: seconds."""
        self._options = options
        self._ledgers = ledgers
        self._clock = clock
        self._make_counter = make_counter
        self._counter: BacklogCounter | None = None
        self._turn = 0
        self._last: float | None = None
        """When a micro-batch was let through."""

    @classmethod
    def with_tables(
        cls, options: ReadOptions, ledgers: LedgerView, tables: KnownTables | None
    ) -> MicroBatches:
        """Count the messages that topics' tables hold there, and all others by entries."""
        return cls(options, ledgers, make_counter=partial(BacklogCounter, tables=tables))

    def admitted(self, former: StreamOffset, reached: StreamOffset, *, waits: bool) -> StreamOffset:
        """As much of what lies between `former` and `reached` as the next micro-batch takes; `former` for not now.

        `waits`: `minOffsetsPerTrigger` applies to it. Raises the errors of `BacklogCounter.measure`.
        """
        counter = self._counter_since(former.published_from)
        starts = reached.starts_from(former)
        counter.forget_before(starts)
        demands = self._demands(starts | self._begins_in_time(starts, reached), reached.positions, counter)
        if not demands:
            return reached
        now = self._clock()
        if waits and self._is_too_early(now) and self._is_too_little(demands, counter):
            return replace(former, starts={})
        self._last = now
        self._turn += 1
        options = self._options
        allowance = Allowance(
            options.max_records_per_trigger or UNLIMITED, options.max_bytes_per_trigger or UNLIMITED
        )
        if allowance == Allowance():
            return reached
        taken = admit(demands, allowance, counter.measure, self._turn)
        counter.count_ahead(share_out(taken.unmet(demands), taken.ends, allowance))
        return replace(reached, positions={**reached.positions, **taken.ends})

    def close(self) -> None:
        if self._counter is not None:
            self._counter.close()

    def _counter_since(self, published_from: TimeBound | None) -> BacklogCounter:
        """The same for the whole life of a query, as its time is."""
        if self._counter is None:
            self._counter = self._make_counter(
                self._options, lambda partition: published_from.of(partition) if published_from else None
            )
        return self._counter

    def _begins_in_time(
        self, starts: Mapping[TopicPartition, Position], reached: StreamOffset
    ) -> dict[TopicPartition, Position]:
        """Of topic partitions that are read from their first message on."""
        bound = reached.published_from
        if bound is None:
            return {}
        return self._ledgers.first_in_time(whole_ranges(bound, starts, reached.positions))

    def _is_too_early(self, now: float) -> bool:
        return self._last is not None and now - self._last < self._options.max_trigger_delay_ms / 1000

    def _is_too_little(self, demands: list[Demand], counter: BacklogCounter) -> bool:
        least = self._options.min_offsets_per_trigger
        return least is not None and admit(demands, Allowance(least), counter.measure).records < least

    def _demands(
        self,
        starts: Mapping[TopicPartition, Position],
        ends: Mapping[TopicPartition, Position],
        counter: BacklogCounter,
    ) -> list[Demand]:
        """Of the topic partitions in which something waits, sorted."""
        waiting = [partition for partition, end in sorted(ends.items()) if starts[partition] < end]
        weights: dict[TopicPartition, float] = {}
        for partition in waiting:
            entries = self._entries(partition, starts[partition], ends[partition])
            if entries is not None:
                weights[partition] = entries * counter.entry_records(partition)
        heaviest = max(weights.values(), default=1.0)
        return [
            Demand(partition, starts[partition], ends[partition], weights.get(partition, heaviest))
            for partition in waiting
        ]

    def _entries(self, partition: TopicPartition, start: Position, end: Position) -> float | None:
        """About how many; None where nothing tells."""
        if start.ledger == end.ledger:
            return float(max(1, end.entry - start.entry))
        known = self._ledgers.known_ledgers(partition)
        if known is None:
            return None
        return float(max(1, sum(part.entries for part in ledger_ranges(known.ledgers, start, end))))
