"""From ranges to splits; the same for a batch and a micro-batch. Driver only.

What is asked for is narrowed by time, checked for what retention has removed, put together ledger by ledger with
where each lies, and cut. Without the admin REST API nothing is known of ledgers: all comes from the broker, and a range
is one split unless it lies in one ledger.
"""

from __future__ import annotations

import heapq
import logging
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import PermissionDenied, PulsarError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.window_edges import Borders, Span, WindowedRange
from pyspark_pulsar.read.planning.data_loss import check_loss, remember
from pyspark_pulsar.read.planning.key_ranges import BY_KEY, split_by_key
from pyspark_pulsar.read.planning.ledger_range import LedgerRange, compacted_ranges, ledger_ranges
from pyspark_pulsar.read.planning.ledgers import TopicLedgers, fetch_ledgers
from pyspark_pulsar.read.planning.packing import Limits, PartitionRange, cut
from pyspark_pulsar.read.planning.placement import AUTO, BROKER, find_places
from pyspark_pulsar.read.planning.sampling import entry_records
from pyspark_pulsar.read.sources.peek import first_entries
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS: Final = 600.0
"""Shorter than any retention that is meant to keep something."""
_LOOKS_AT_A_TIME: Final = 16
"""No trigger waits for thousands of topics; the longest not looked at come first."""


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """How one topic partition is read: the range left after narrowing by time, and its splits in order."""

    partition: TopicPartition
    start: Position
    end: Position
    ledgers: TopicLedgers | None
    """All that the topic partition has; None where they are not known, or nothing is asked of it."""
    splits: tuple[Split, ...]


class SplitPlanner:
    """Kept by a stream from one micro-batch to the next, since it remembers ledgers. Used by one thread."""

    def __init__(self, options: ReadOptions, client: BrokerClient, admin: AdminClient | None) -> None:
        """`admin` None: the ledgers are not known. The caller closes both clients."""
        self._options = options
        self._client = client
        self._admin = admin
        self._known: dict[TopicPartition, TopicLedgers] = {}
        self._seen: dict[TopicPartition, dict[int, Ledger]] = {}
        self._looked: dict[TopicPartition, float] = {}
        self._told: dict[str, None] = {}
        self._borders = Borders(partial(first_entries, client), options.clock_slack_ms)

    @property
    def may_read_directly(self) -> bool:
        """Whether some of a plan may be read past the broker."""
        return self._admin is not None and self._options.read_from != BROKER

    @property
    def told(self) -> tuple[str, ...]:
        """What the log was told about how the ranges are read, in order."""
        return tuple(self._told)

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        """As they were when they were last asked for."""
        return self._known.get(partition)

    def first_in_time(self, asked: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Where messages of each window begin at the earliest, as ledgers tell; its start where they are not known.

        Raises the errors of `AdminClient`, as `plan` does.
        """
        wanted = [each for each in asked if not each.is_empty]
        spans = self._spans(wanted, self._ledgers(wanted))
        return {each.partition: _within(each, spans).start for each in wanted}

    def plan(self, asked: Iterable[RangeRequest]) -> list[PartitionPlan]:
        """Sorted by topic partition. The caller has shown that its role may consume them: direct reads ask nobody.

        Raises `DataLossError`, `LedgerUnavailable`, and the errors of `AdminClient` but for a right that only
        `readFrom=auto` or `broker` can do without.
        """
        wanted = sorted(asked, key=lambda each: each.partition)
        known = self._ledgers([each for each in wanted if not each.is_empty])
        if not known:
            self._tell_limits(wanted)
        for each in wanted:
            self._check_loss(each, known.get(each.partition))
        spans = self._spans(wanted, known)
        narrowed = {each.partition: _within(each, spans) for each in wanted}
        found = {
            each.partition: self._ledger_ranges(narrowed[each.partition], known.get(each.partition))
            for each in wanted
        }
        known, found = self._located(known, found)
        records = self._entry_records(found)
        ranges = [
            PartitionRange(
                each.partition, narrowed[each.partition].start, narrowed[each.partition].end,
                tuple(found[each.partition]), records.get(each.partition, 1.0), each.window, each.from_earliest,
                each.keys,
            )
            for each in wanted
        ]  # fmt: skip
        splits: dict[TopicPartition, list[Split]] = defaultdict(list)
        for split in self._cut(ranges):
            splits[split.partition].append(split)
        return [
            PartitionPlan(
                each.partition, each.start, each.end, known.get(each.partition), tuple(splits[each.partition])
            )
            for each in ranges
        ]

    def keep_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Look at ledgers that were not looked at for long. A stream that waits for messages calls it at its triggers:
        when retention removes the ledger at whose end it stands, only who saw that ledger closed knows that nothing
        was lost. Raises nothing where the admin REST API does not answer.
        """
        now = time.monotonic()
        stale = heapq.nsmallest(
            _LOOKS_AT_A_TIME,
            (each for each in partitions if now - self._looked.get(each, -math.inf) > _LOOK_AGAIN_SECONDS),
            key=lambda each: self._looked.get(each, -math.inf),
        )
        if self._admin is None or not stale:
            return
        # One that does not answer is not asked again at the next trigger.
        self._looked.update(dict.fromkeys(stale, now))
        try:
            self._learn(fetch_ledgers(self._admin, stale))
        except PulsarError as fault:
            _log.info("the ledgers of %d topic partitions were not looked at: %s", len(stale), fault)

    def _cut(self, ranges: list[PartitionRange]) -> list[Split]:
        options, least = self._options, self._options.min_partitions or 1
        if options.split_by == BY_KEY:
            return split_by_key(ranges, least)
        return cut(ranges, Limits(options.max_bytes_per_partition, least, options.max_records_per_partition))

    # What is there

    def _ledgers(self, asked: list[RangeRequest]) -> dict[TopicPartition, TopicLedgers]:
        """Of the topic partitions asked for, as they are now, or as they were where that is enough."""
        if self._admin is None:
            return {}
        stale = [each.partition for each in asked if not self._is_enough(each)]
        try:
            fresh = fetch_ledgers(self._admin, stale)
        except PermissionDenied as fault:
            if self._options.read_from not in (AUTO, BROKER):
                raise
            self._tell(f"all is read from the broker, one split for each topic partition: {fault}")
            return {}
        self._learn(fresh)
        return {each.partition: self._known[each.partition] for each in asked}

    def _learn(self, fresh: Mapping[TopicPartition, TopicLedgers]) -> None:
        for partition, ledgers in fresh.items():
            self._seen[partition] = remember(self._seen.get(partition, {}), ledgers)
            self._looked[partition] = time.monotonic()
        self._known.update(fresh)

    def _is_enough(self, asked: RangeRequest) -> bool:
        """Whether what is known serves: a small range inside the ledger that was being written to, which the broker
        reads in any case, needs no other. Its end has just been asked for, so the ledger is there."""
        known = self._known.get(asked.partition)
        if known is None or not known.ledgers:
            return False
        last = known.ledgers[-1]
        if not (last.is_open and asked.start.ledger == asked.end.ledger == last.id):
            return False
        ledger_range = LedgerRange(asked.start, asked.end, last)
        return 0 < ledger_range.entry_bytes * ledger_range.entries <= self._options.max_bytes_per_partition

    # What is asked of it

    def _check_loss(self, asked: RangeRequest, ledgers: TopicLedgers | None) -> None:
        if ledgers is None or asked.is_empty:
            return
        until = ledgers.compacted_until if self._options.read_compacted else None
        # What compaction has seen is in its view, whatever became of the ledgers.
        is_in_doubt = not self._options.read_compacted or (until is not None and asked.start > until)
        if is_in_doubt and not asked.is_whole:
            check_loss(
                asked.partition,
                ledgers,
                EARLIEST if asked.from_earliest else asked.start,
                asked.end,
                fail=self._options.fail_on_data_loss,
                former=self._seen.get(asked.partition, {}),
            )

    def _spans(
        self, asked: Iterable[RangeRequest], known: Mapping[TopicPartition, TopicLedgers]
    ) -> dict[TopicPartition, Span]:
        """Where the messages of each window can lie, of those whose ledgers are known."""
        return self._borders.spans(
            {
                each.partition: WindowedRange(
                    known[each.partition].ledgers, each.start, each.end, each.window
                )
                for each in asked
                if each.partition in known and not each.is_empty
            }
        )

    def _ledger_ranges(self, asked: RangeRequest, ledgers: TopicLedgers | None) -> list[LedgerRange]:
        if asked.is_empty:
            return []
        if self._options.read_compacted:
            return compacted_ranges(ledgers, asked.start, asked.end)
        return ledger_ranges(ledgers.ledgers if ledgers is not None else None, asked.start, asked.end)

    def _located(
        self, known: dict[TopicPartition, TopicLedgers], found: Mapping[TopicPartition, list[LedgerRange]]
    ) -> tuple[dict[TopicPartition, TopicLedgers], dict[TopicPartition, list[LedgerRange]]]:
        """The same with where each stretch is read from, and what became known of the ledgers on the way."""
        closed = {
            partition: {
                each.ledger.id for each in found[partition] if each.ledger and not each.ledger.is_open
            }
            for partition in known
        }
        views = any(each.is_compacted for parts in found.values() for each in parts)
        if self._admin is None or not self.may_read_directly or not any(closed.values()):
            return known, dict(found)
        wanted = {each: (known[each], ids) for each, ids in closed.items()}
        places, known = find_places(self._options, self._admin, wanted, views=views)
        self._known.update(known)
        for note in places.notes:
            self._tell(note)
        located = {
            partition: places.locate(partition, parts, known.get(partition))
            for partition, parts in found.items()
        }
        return known, located

    def _entry_records(
        self, found: Mapping[TopicPartition, list[LedgerRange]]
    ) -> Mapping[TopicPartition, float]:
        if self._options.max_records_per_partition is None or self._options.split_by == BY_KEY:
            return {}
        return entry_records(self._client, found)

    # What the user should know

    def _tell_limits(self, asked: Iterable[RangeRequest]) -> None:
        options = self._options
        if self._admin is not None:
            return
        if any(each.window.bounds_publish_times for each in asked):
            self._tell("with option admin.url, ledgers outside the asked times would not be read at all")
        if options.split_by == BY_KEY:
            return
        if options.min_partitions is not None or options.max_records_per_partition is not None:
            self._tell("without option admin.url, only a range inside one ledger can be cut into splits")

    def _tell(self, text: str) -> None:
        """Once for each planner."""
        if text not in self._told:
            self._told[text] = None
            _log.warning("%s", text)


def _within(asked: RangeRequest, spans: Mapping[TopicPartition, Span]) -> RangeRequest:
    """Without the ledgers that lie outside its window."""
    start, end = spans.get(asked.partition, (None, None))
    return replace(
        asked,
        start=asked.start if start is None else max(asked.start, start),
        end=asked.end if end is None else min(asked.end, end),
    )


def splits_of(plans: Iterable[PartitionPlan]) -> list[Split]:
    """All splits, in the order of topic partitions and positions."""
    return [split for plan in plans for split in plan.splits]
