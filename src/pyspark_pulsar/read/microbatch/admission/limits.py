"""The end of a stream's next micro-batch: the present ends, or earlier if options limit it. Driver only.

    option                     effect at a trigger
    none                       all available messages are read; nothing is counted
    minOffsetsPerTrigger       with fewer unread messages, no micro-batch before `maxTriggerDelay` is over
    maxRecordsPerTrigger       at most this number of messages, and exactly this number while more wait
    maxBytesPerTrigger         at most this number of stored bytes, but at least one message

The delay begins with the last admitted micro-batch. So the first trigger of a start never waits. Neither does
`Trigger.AvailableNow`, which must reach its end. The minimum is counted as exactly as the maximum: it is `admit` with
the minimum as its allowance.

The maximum is shared among topic partitions by their unread messages (`allowance`). Their number is estimated without
I/O: entries times the mean number of messages in the entries that were counted before. Entries are counted by ids
within one ledger, and across ledgers by the ledgers that a planner knows. A partition without such an estimate weighs
as much as the heaviest other one. A wrong estimate makes a micro-batch less even, and never larger.

Each trigger works in this order:

1. Forget the messages that were read.
2. Skip the messages before the query's time, because counting them would last as long as reading them.
3. Weigh the demands.
4. Wait, or admit.
5. Count the remaining messages in advance, for the next micro-batch.
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
    """The knowledge of `read.planning.planner.SplitPlanner` about ledgers."""

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        """Return the ledgers as they were last listed, which may be outdated."""

    def first_in_time(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Return the earliest position of each request's messages, by its time window."""


class MicroBatches:
    """The limits of a query's micro-batches. Used by one thread in the query's driver process."""

    def __init__(
        self,
        options: ReadOptions,
        ledgers: LedgerView,
        clock: Callable[[], float] = time.monotonic,
        make_counter: Callable[[ReadOptions, PublishedFrom], BacklogCounter] = BacklogCounter,
    ) -> None:
        """Store the arguments; `clock` returns monotonic seconds."""
        self._options = options
        self._ledgers = ledgers
        self._clock = clock
        self._make_counter = make_counter
        self._counter: BacklogCounter | None = None
        self._turn = 0
        self._last: float | None = None
        """Time of the last admitted micro-batch."""

    @classmethod
    def with_tables(
        cls, options: ReadOptions, ledgers: LedgerView, tables: KnownTables | None
    ) -> MicroBatches:
        """Create limits that count messages in topics' tables there, and all others by entries."""
        return cls(options, ledgers, make_counter=partial(BacklogCounter, tables=tables))

    def admitted(self, former: StreamOffset, reached: StreamOffset, *, waits: bool) -> StreamOffset:
        """Return the end of the next micro-batch between `former` and `reached`; `former` if there is none yet.

        Args:
            former: The offset that the micro-batch begins at.
            reached: The offset that it may read up to.
            waits: Whether `minOffsetsPerTrigger` applies.

        Raises:
            PulsarError: As `BacklogCounter.measure` raises it.

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
        """Return the counter. The query has only one, because its time bound never changes."""
        if self._counter is None:
            self._counter = self._make_counter(
                self._options, lambda partition: published_from.time_of(partition) if published_from else None
            )
        return self._counter

    def _begins_in_time(
        self, starts: Mapping[TopicPartition, Position], reached: StreamOffset
    ) -> dict[TopicPartition, Position]:
        """Return later starts by time, for topic partitions that are read from their first message."""
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
        """Return the demands of topic partitions with unread messages, sorted."""
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
        """Return the estimated number of entries; None if there is no estimate."""
        if start.ledger == end.ledger:
            return float(max(1, end.entry - start.entry))
        known = self._ledgers.known_ledgers(partition)
        if known is None:
            return None
        return float(max(1, sum(part.entries for part in ledger_ranges(known.ledgers, start, end))))
