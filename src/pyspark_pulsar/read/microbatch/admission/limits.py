"""The end of a stream's next micro-batch: the present ends, or earlier positions if options set a limit. Driver only.

    option                     effect at a trigger
    none                       all available messages are read; nothing is counted
    minOffsetsPerTrigger       with fewer unread messages, no micro-batch starts before `maxTriggerDelay` is over
    maxRecordsPerTrigger       at most this number of messages; exactly this number if more are available
    maxBytesPerTrigger         at most this number of stored bytes, but at least one message

The delay is measured from the last admitted micro-batch. So the first trigger after a start never waits.
`Trigger.AvailableNow` never waits, because it must reach its end. The minimum is counted exactly, too: `admit` is
called with the minimum as its allowance.

The maximum is divided among the topic partitions in proportion to their unread messages (`allowance`). The number of
unread messages is estimated without I/O: the number of entries, times the mean number of messages per counted entry.
Within one ledger, the entries are counted by their ids. Across ledgers, they are counted from the planner's list of
ledgers. A partition without an estimate gets the weight of the heaviest other partition. A wrong estimate makes the
shares uneven, but it never makes a micro-batch larger.

Each trigger has these steps:

1. Forget the messages that were read.
2. Skip the messages before the query's start time, because counting them would last as long as reading them.
3. Compute the weights of the demands.
4. Wait for more messages, or admit messages.
5. Count the remaining messages in advance, for the next micro-batch.
"""

from __future__ import annotations

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
from pyspark_pulsar.runtime import time


class LedgerView(Protocol):
    """The methods of `read.planning.planner.SplitPlanner` that return information about ledgers."""

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        """Return the ledgers from the last list, which may be outdated."""

    def first_in_time(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Return, for each topic partition, the earliest position at which a message of its time window may be."""


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
        """Time of the last admitted micro-batch, in seconds of `clock`; None before the first one."""

    @classmethod
    def with_tables(
        cls, options: ReadOptions, ledgers: LedgerView, tables: KnownTables | None
    ) -> MicroBatches:
        """Create limits that count the messages of a topic's table in the table, and all other messages by entries."""
        return cls(options, ledgers, make_counter=partial(BacklogCounter, tables=tables))

    def admitted(self, former: StreamOffset, reached: StreamOffset, *, waits: bool) -> StreamOffset:
        """Return the end of the next micro-batch, which is `reached` or before it.

        Args:
            former: The offset at which the micro-batch begins. If the micro-batch must wait, the result has the
                positions of `former`.
            reached: The last offset that the micro-batch may read up to.
            waits: Whether `minOffsetsPerTrigger` applies.

        Raises:
            PulsarError: For the same reasons as `BacklogCounter.measure`.

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
        """Return the counter. A query needs only one counter, because its time bound never changes."""
        if self._counter is None:
            self._counter = self._make_counter(
                self._options, lambda partition: published_from.time_of(partition) if published_from else None
            )
        return self._counter

    def _begins_in_time(
        self, starts: Mapping[TopicPartition, Position], reached: StreamOffset
    ) -> dict[TopicPartition, Position]:
        """Return where the query's time window begins, in each topic partition that is read from `earliest`.

        If the query has no start time, the result is empty.
        """
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
        """Return the demands of the topic partitions with unread messages, sorted by topic partition."""
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
        """Return the estimated number of entries from `start` to `end`; None if no list of ledgers is available."""
        if start.ledger == end.ledger:
            return float(max(1, end.entry - start.entry))
        known = self._ledgers.known_ledgers(partition)
        if known is None:
            return None
        return float(max(1, sum(part.entries for part in ledger_ranges(known.ledgers, start, end))))
