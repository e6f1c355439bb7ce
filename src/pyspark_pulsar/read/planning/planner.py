"""From ranges that are asked for to splits; the same for a batch and a micro-batch. Driver only.

A plan is made in steps. Each fills its fields in the draft of every topic partition (`draft`), so that one request is
about many topic partitions at once:

    step        makes                                        asks                       in
    tables      what topics' tables hold of the ranges       their catalog, admin REST  tables.tiered_ranges,
                and whether they are still the topics'                                  tables.topic_notes
    ledgers     which ledgers there are after that, but      admin REST, some at once   ledgers.known_ledgers,
                for many small ranges                                                   ledgers.small_ranges
    loss        an error for what retention has removed      -                          ledgers.data_loss
    narrowing   the range without ledgers that lie outside   one entry beside each end  bounds.window_edges
                its window of publish times                  of the window
    ranges      a LedgerRange for each ledger it touches,    -                          ledgers.ledger_range,
                a FileRange for some files of the table                                 tables.file_range
    placement   where each of these is read from             admin REST, bookies,       placement.placer
                                                             tiered storage
    records     messages in an entry, where splits are       some entries of the        splits.sampling
                limited by messages                          broker
    packing     splits: small neighbours together, large     -                          splits.packing,
                ones cut between entries                                                splits.key_ranges

What holds of a plan, whatever ledgers, bounds and limits are (tests/property/test_plan.py):

  * The splits of a topic partition are its narrowed range, once and in order; so are the ranges of a split.
  * A message that the window wants is in a split. A plan may hold more: the decoder drops by time, message by message.
  * A range that is read past the broker lies in one closed ledger. The open ledger, and whatever nobody knows of, comes
    from the broker.
  * Splits are no larger than the limits say, as far as whole entries allow.

What is known bounds what can be done. Without the admin REST API, or without the right to see ledgers, nothing is left
out by time, all comes from the broker, and a range is one split unless it lies in one ledger. Then the steps are the
same with `TopicLedgers` None. With `readFrom=auto` whatever is not answered only makes a plan less good, and a warning
tells it once for each planner; a place that `readFrom` names has to be found.

The ledgers may change between two steps, or before a task runs: a ledger is closed, offloaded, removed. No step locks
anything. Positions stay what they are through all of that, and tasks find what has moved (`task.fallback`).

Direct reads ask nobody for leave: the caller has shown the broker, before `plan`, that its role may consume each topic
partition.
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
    """Kept by a stream from one micro-batch to the next, since it remembers ledgers. Used by one thread."""

    def __init__(self, options: ReadOptions, client: BrokerClient, admin: AdminClient | None) -> None:
        """`admin` None: the ledgers are not known. The caller closes both clients."""
        self._options = options
        self._client = client
        self._reported: dict[str, None] = {}
        self._tiered = TieredRanges(options, admin, self._report) if admin and uses_tables(options) else None
        self.ledgers = KnownLedgers(options, admin, self._report, uses_tables=self._tiered is not None)
        self._placer = Placer(options, admin, self._report)
        self._edges = WindowEdges(partial(first_entries, client), options.clock_slack_ms)

    @property
    def may_read_directly(self) -> bool:
        """Whether some of a plan may be read past the broker."""
        return self._placer.may_read_directly

    @property
    def notes(self) -> tuple[str, ...]:
        """What was logged about how the ranges are read, in order."""
        return tuple(self._reported)

    @property
    def tables(self) -> KnownTables | None:
        """None where the options let no read take rows of tables."""
        return None if self._tiered is None else self._tiered.tables

    def ask_ahead(self, partitions: Collection[TopicPartition]) -> None:
        """Begin to request what a plan needs, wherever the partitions end, while brokers report the ends.

        Requests nothing where the ends, or tables, may make the answers useless, nor for more than a few partitions.
        Raises nothing: `plan` does, for those that it plans.
        """
        if self._tiered is None and self.ledgers.may_list_ahead(partitions):
            self.ledgers.list_ahead(partitions, with_striping=self._placer.asks_bookies)
            self._placer.ask_ahead()

    def skip_tables(
        self, positions: Mapping[TopicPartition, Position], *, at_once: bool = False
    ) -> dict[TopicPartition, Position]:
        """Return the positions, moved to the end of the topic's table where that is later: brokers may know nothing of
        what is before. `at_once`: use the tables as they are now, and not as they were when they were last loaded.
        Raises the errors of `KnownTables.refresh`."""
        return (
            dict(positions) if self._tiered is None else self._tiered.skip_tables(positions, at_once=at_once)
        )

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        """Return the ledgers as they were when they were last listed."""
        return self.ledgers.of(partition)

    def first_in_time(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Return where the messages of each window begin at the earliest, as ledgers show; the start of the range where
        they are not known. Raises the errors of `AdminClient`, as `plan` does."""
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
            LedgerUnavailable: A ledger is not where `readFrom` says.
            PulsarError: And the errors of `KnownTables`, and those of `AdminClient` but for a right that
                `readFrom=auto` and `broker` do without.

        """
        drafts = [
            PartitionDraft(request) for request in sorted(requests, key=lambda request: request.partition)
        ]
        self._take_tables(drafts)
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

    def _take_tables(self, drafts: Sequence[PartitionDraft]) -> None:
        """Cut each range in what the topic's table holds and what is left for its ledgers, and list these ledgers.
        Ledgers that are gone may show that a table has grown since it was loaded, so the cut moves."""
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
        """Return the ranges that begin before the ledger that is written to: others need no table."""
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
            may_be_lost = self._tiered.doubtful(draft.rest, ledgers)
            if may_be_lost is None:
                return
            doubtful = may_be_lost
        if doubtful.is_empty or doubtful.is_whole:
            return
        if self._options.read_compacted and (
            ledgers.compacted_until is None or doubtful.start <= ledgers.compacted_until
        ):
            # What compaction has seen is in its view, whatever became of the ledgers.
            return
        check_loss(
            draft.partition,
            ledgers,
            EARLIEST if doubtful.from_earliest else doubtful.start,
            doubtful.end,
            fail=self._options.fail_on_data_loss,
            former=self.ledgers.seen(draft.partition),
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
