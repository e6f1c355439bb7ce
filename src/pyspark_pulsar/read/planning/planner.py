"""The planner, which divides requested ranges into splits. Batches and micro-batches use it. Driver only.

The planner works in steps. Each step sets its fields in the draft of every topic partition (`draft`), so one request
can be about many topic partitions:

    step        result                                       requests to                in
    tables      the part of each range that is in a topic's  catalog, admin REST        tables.tiered_ranges,
                table, after a check of the table                                       tables.topic_notes
    ledgers     the ledgers after the table's end, except    admin REST, some at the    ledgers.known_ledgers,
                for many small ranges                        same time                  ledgers.small_ranges
    loss        an error for messages that retention removed none                       ledgers.data_loss
    narrowing   the range without the ledgers outside of     broker: an entry next to   bounds.window_edges
                its window of publish times                  each end of the window
    ranges      a `LedgerRange` for each ledger, and a       none                       ledgers.ledger_range,
                `FileRange` for each group of table files                               tables.file_range
    placement   the location of each LedgerRange             admin REST, bookies,       placement.placer
                                                             tiered storage
    records     messages in an entry, if splits are          broker: some entries       splits.sampling
                limited by messages
    packing     splits: small neighbors are joined, large    none                       splits.packing,
                ranges cut between entries                                              splits.key_ranges

Each plan has these properties, for all ledgers, bounds and limits (tests/property/test_plan.py):

  * The splits of a topic partition cover each position of its narrowed range once, in order. The ranges of a split
    cover each position of the split once, in order.
  * Each message in the window is in a split. A split may contain more messages, and the decoder drops the messages
    outside the window.
  * A range that is not read from the broker is in one closed ledger. The broker serves the open ledger, and every
    ledger that the planner has no facts about.
  * Splits are within the limits. A limit is exceeded only if one entry is larger.

Missing facts make a plan worse. Without the admin REST API, or without the permission to list ledgers, the broker
serves all ranges. Then no ledger is left out by time, and a range can be cut only if it is inside one ledger. The steps
are the same, but the drafts contain no ledgers. With `readFrom=auto` a missing answer only makes the plan worse, and
the planner logs a warning once. If `readFrom` names a location, a ledger that is missing in this location is an error.

Ledgers may be closed, offloaded or removed between two steps, or before a task runs. No step locks ledgers. Positions
stay valid through all such changes, and tasks find the new location (`task.fallback`).

Direct reads bypass the broker's authorization. So before a call of `plan`, the caller must check with the broker that
its role may consume each topic partition.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.window_edges import WindowEdges, WindowedRange
from pyspark_pulsar.read.planning.draft import PartitionDraft
from pyspark_pulsar.read.planning.ledgers.data_loss import check_loss
from pyspark_pulsar.read.planning.ledgers.known_ledgers import KnownLedgers
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange, compacted_ranges, ledger_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.planning.placement.placer import Placer
from pyspark_pulsar.read.planning.splits.splitting import limits_without_ledgers, make_splits
from pyspark_pulsar.read.planning.tables.known_tables import KnownTables, uses_tables
from pyspark_pulsar.read.planning.tables.tiered_ranges import TieredRanges
from pyspark_pulsar.read.sources.peek import first_entries

_log: Final = logging.getLogger(__name__)


class SplitPlanner:
    """The planner of one read.

    A planner remembers ledgers, so a stream uses one planner for all micro-batches. Used by one thread.
    """

    def __init__(self, options: ReadOptions, client: BrokerClient, admin: AdminClient | None) -> None:
        """Create a planner. Without `admin`, the planner lists no ledgers. The caller closes both clients."""
        self._options = options
        self._client = client
        self._reported: dict[str, None] = {}
        self._tiered = TieredRanges(options, admin, self._report) if admin and uses_tables(options) else None
        self.ledgers = KnownLedgers(options, admin, self._report, uses_tables=self._tiered is not None)
        self._placer = Placer(options, admin, self._report)
        self._edges = WindowEdges(partial(first_entries, client), options.clock_slack_ms)

    @property
    def may_read_directly(self) -> bool:
        """True if ranges may be read from a location other than the broker."""
        return self._placer.may_read_directly

    @property
    def notes(self) -> tuple[str, ...]:
        """The different warnings about how the ranges are read, in the order of their first occurrence."""
        return tuple(self._reported)

    @property
    def tables(self) -> KnownTables | None:
        """The topics' tables; None if the options exclude rows of tables."""
        return None if self._tiered is None else self._tiered.tables

    def request_early(self, partitions: Collection[TopicPartition]) -> None:
        """Start requests that do not depend on the partitions' ends, while brokers still report these ends.

        No request is sent if the ends or tables could make the answers useless, or if the partitions are many. No error
        is raised: a later call of `plan` raises the errors.
        """
        if self._tiered is None and self.ledgers.may_list_ahead(partitions):
            self.ledgers.list_ahead(partitions, with_striping=self._placer.needs_bookies)
            self._placer.request_early()

    def skip_tables(
        self, positions: Mapping[TopicPartition, Position], *, at_once: bool = False
    ) -> dict[TopicPartition, Position]:
        """Return each position, or the end of the topic's table if that is later.

        Brokers may have removed the messages before the table's end.

        Args:
            positions: The position in each topic partition.
            at_once: Whether to load the tables now, instead of using the state that was loaded last.

        Raises:
            PulsarError: The errors of `KnownTables.refresh`.

        """
        return (
            dict(positions) if self._tiered is None else self._tiered.skip_tables(positions, at_once=at_once)
        )

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        """Return the ledgers of the last list."""
        return self.ledgers.get(partition)

    def first_in_time(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Return, for each range, the first position that may have a message of the time window, by the ledgers' times.

        If the ledgers of a range are unknown, the result is the start of the range. The errors of `AdminClient` are
        raised.
        """
        drafts = [PartitionDraft(request) for request in requests if not request.is_empty]
        untiered = drafts
        if self._tiered is not None:
            self._tiered.find(self._before_open_ledger(drafts))
            untiered = [draft for draft in drafts if self._tiered.tiered(draft.request) is None]
        self._list_ledgers(untiered)
        self._narrow(untiered)
        return {draft.partition: draft.rest.start for draft in drafts}

    def plan(self, requests: Iterable[RangeRequest]) -> list[PartitionPlan]:
        """Return the plans, sorted by topic partition.

        Args:
            requests: At most one range for each topic partition.

        Raises:
            DataLossError: Retention has removed a part of a range.
            LedgerUnavailable: A ledger is not in the location that `readFrom` names.
            PulsarError: The errors of `KnownTables` and `AdminClient`. A missing permission is no error if
                `readFrom` is `auto` or `broker`.

        """
        drafts = [
            PartitionDraft(request) for request in sorted(requests, key=lambda request: request.partition)
        ]
        self._divide_by_tables(drafts)
        if not self.ledgers.is_possible:
            for text in limits_without_ledgers(self._options, [draft.request for draft in drafts]):
                self._report(text)
        for draft in drafts:
            self._check_loss(draft)
        self._narrow(drafts)
        for draft in drafts:
            self._make_ranges(draft)
        self.ledgers.update(self._placer.place(drafts))
        make_splits(self._options, self._client, drafts)
        return [
            PartitionPlan(
                draft.partition, draft.narrowed.start, draft.narrowed.end, draft.ledgers, draft.splits
            )
            for draft in drafts
        ]

    # Steps tables and ledgers

    def _divide_by_tables(self, drafts: Sequence[PartitionDraft]) -> None:
        """Divide each range between the topic's table and its ledgers, and list these ledgers.

        If ledgers were removed, the table may contain their rows by now. Then the table is loaded again, and the ranges
        are divided at its new end.
        """
        tiered = self._tiered
        if tiered is None:
            self._list_ledgers([draft for draft in drafts if not draft.request.is_empty])
            return
        tiered.find(self._before_open_ledger(drafts))
        _cut(tiered, drafts)
        self._list_ledgers(
            [draft for draft in drafts if not draft.rest.is_empty or tiered.begins_at_end(draft.rest)]
        )
        known = {draft.partition: draft.ledgers for draft in drafts if draft.ledgers is not None}
        if tiered.find_newer([draft.rest for draft in drafts], known):
            _cut(tiered, drafts)
        if tiered.check([draft.request for draft in drafts], known):
            _cut(tiered, drafts)
        for draft in drafts:
            draft.tiered = tiered.tiered(draft.request)

    def _before_open_ledger(self, drafts: Iterable[PartitionDraft]) -> list[RangeRequest]:
        """Return the ranges that begin before the open ledger, because the other ranges need no table."""
        return [
            draft.request
            for draft in drafts
            if not draft.request.is_empty and not self.ledgers.is_enough(draft.request)
        ]

    def _list_ledgers(self, drafts: Sequence[PartitionDraft]) -> None:
        known = self.ledgers.fetch([draft.rest for draft in drafts])
        for draft in drafts:
            draft.ledgers = known.get(draft.partition)

    # Step loss

    def _check_loss(self, draft: PartitionDraft) -> None:
        ledgers, doubtful = draft.ledgers, draft.rest
        if ledgers is None or not ledgers.ledgers:
            return
        if self._tiered is not None:
            may_be_lost = self._tiered.possible_loss(draft.rest, ledgers)
            if may_be_lost is None:
                return
            doubtful = may_be_lost
        if doubtful.is_empty or doubtful.is_whole:
            return
        if self._options.read_compacted and (
            ledgers.compacted_until is None or doubtful.start <= ledgers.compacted_until
        ):
            # The compacted view contains all messages that compaction has read, even if their ledgers were removed.
            return
        check_loss(
            draft.partition,
            ledgers,
            EARLIEST if doubtful.from_earliest else doubtful.start,
            doubtful.end,
            fail=self._options.fail_on_data_loss,
            previous=self.ledgers.ever_listed(draft.partition),
        )

    # Step narrowing

    def _narrow(self, drafts: Sequence[PartitionDraft]) -> None:
        spans = self._edges.spans(
            {
                draft.partition: WindowedRange(
                    draft.ledgers.ledgers, draft.rest.start, draft.rest.end, draft.rest.window
                )
                for draft in drafts
                if draft.ledgers is not None and not draft.rest.is_empty
            }
        )
        for draft in drafts:
            if draft.partition in spans:
                draft.rest = draft.rest.within(*spans[draft.partition])

    # Step ranges

    def _make_ranges(self, draft: PartitionDraft) -> None:
        if self._tiered is not None:
            draft.files = self._tiered.file_ranges(draft.tiered)
        draft.parts = [] if draft.rest.is_empty else self._ledger_ranges(draft.rest, draft.ledgers)

    def _ledger_ranges(self, request: RangeRequest, ledgers: TopicLedgers | None) -> list[LedgerRange]:
        if self._options.read_compacted:
            return compacted_ranges(ledgers, request.start, request.end)
        if ledgers is None:
            return ledger_ranges(None, request.start_in_ledger, request.end)
        return ledger_ranges(ledgers.ledgers, request.start, request.end)

    def _report(self, text: str) -> None:
        """Log a warning once for each planner."""
        if text not in self._reported:
            self._reported[text] = None
            _log.warning("%s", text)


def _cut(tiered: TieredRanges, drafts: Iterable[PartitionDraft]) -> None:
    for draft in drafts:
        draft.rest = tiered.rest(draft.request)
