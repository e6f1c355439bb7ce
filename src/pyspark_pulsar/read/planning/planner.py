"""From ranges that are asked for to splits; the same for a batch and a micro-batch. Driver only.

A plan is made in steps. Each takes what the step before has made of every topic partition, so that one question goes to
many topic partitions at once:

    step        makes                                        asks                       in
    tables      what topics' tables hold of the ranges       their catalog, admin REST  tables.tiered_ranges,
                and whether they are still the topics'                                  tables.topic_notes
    ledgers     which ledgers there are behind that, but     admin REST, some at once   ledgers.known_ledgers,
                for many small ranges                                                   ledgers.small_ranges
    loss        an error for what retention has removed      -                          ledgers.data_loss
    narrowing   the range without ledgers that lie outside   one entry beside each end  bounds.window_edges
                its window of publish times                  of the window
    ranges      a LedgerRange for each ledger it touches,    -                          ledgers.ledger_range,
                a FileRange for some files of the table                                 tables.file_range
    placement   where each of these is read from             admin REST, bookies,       placement
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
from itertools import pairwise
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.window_edges import Span, WindowEdges, WindowedRange
from pyspark_pulsar.read.planning.ahead import Ahead
from pyspark_pulsar.read.planning.ledgers.data_loss import check_loss
from pyspark_pulsar.read.planning.ledgers.known_ledgers import KnownLedgers
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange, compacted_ranges, ledger_ranges
from pyspark_pulsar.read.planning.ledgers.small_ranges import FEW, small_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.planning.placement.bookies import AUTO, BOOKIE, PresentBookies, present_bookies
from pyspark_pulsar.read.planning.placement.ledger_placement import BROKER, find_placement
from pyspark_pulsar.read.planning.splits.key_ranges import BY_KEY
from pyspark_pulsar.read.planning.splits.splitting import splits_by_partition
from pyspark_pulsar.read.planning.tables.known_tables import KnownTables, uses_tables
from pyspark_pulsar.read.planning.tables.tiered_ranges import TieredRanges
from pyspark_pulsar.read.sources.peek import first_entries
from pyspark_pulsar.topic import TopicPartition

_NO_SPAN: Final[Span] = (None, None)

_log: Final = logging.getLogger(__name__)


class SplitPlanner:
    """Kept by a stream from one micro-batch to the next, since it remembers ledgers. Used by one thread."""

    def __init__(self, options: ReadOptions, client: BrokerClient, admin: AdminClient | None) -> None:
        """`admin` None: the ledgers are not known. The caller closes both clients."""
        self._options = options
        self._client = client
        self._admin = admin
        self._tiered = TieredRanges(options, admin, self._tell) if admin and uses_tables(options) else None
        self._known: KnownLedgers | None = None
        if admin is not None:
            # A table tells of which topic it is by when that was made.
            with_created = self._tiered is not None
            self._known = KnownLedgers(admin, options.max_bytes_per_partition, with_created=with_created)
        self._bookies: Ahead[PresentBookies] | None = None
        self._told: dict[str, None] = {}
        self._borders = WindowEdges(partial(first_entries, client), options.clock_slack_ms)

    @property
    def lists_ledgers(self) -> bool:
        """Whether the admin REST API may list ledgers."""
        return self._admin is not None

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
        return None if self._known is None else self._known.of(partition)

    def ask_ahead(self, partitions: Collection[TopicPartition]) -> None:
        """Begin to ask what a plan needs of these, wherever they end: so it comes while brokers tell the ends. Asks
        nothing where the ends, or tables, may make the answers useless, and of no more than a few.

        Raises nothing: `plan` does, for those that it plans.
        """
        if self._admin is None or self._tiered is not None or not 0 < len(partitions) <= FEW:
            return
        asks_bookies = self._options.read_from in (AUTO, BOOKIE)
        self._list_ahead(partitions, with_striping=asks_bookies)
        if asks_bookies:
            self._bookies = Ahead(self._admin.begin(present_bookies, self._options, self._admin))

    def list_ahead(self, partitions: Iterable[TopicPartition]) -> None:
        """Begin to list the ledgers of a few, not where they lie. Raises nothing, as `ask_ahead`."""
        self._list_ahead(partitions, with_striping=False)

    def _list_ahead(self, partitions: Iterable[TopicPartition], *, with_striping: bool) -> None:
        if self._known is not None:
            listed = (partition for partition in partitions if not partition.is_segment)
            self._known.ask_ahead(listed, with_striping=with_striping)

    def ledgers_within(
        self, partitions: Collection[TopicPartition], seconds: float
    ) -> dict[TopicPartition, TopicLedgers]:
        """Those that were begun to be listed, as soon as they are there; nothing of others. Raises `DeadlineExceeded`,
        and the errors of `AdminClient`."""
        return {} if self._known is None else self._known.asked_ahead(partitions, seconds)

    def forget_ahead(self, partitions: Iterable[TopicPartition]) -> None:
        """What `ask_ahead` has asked of these is older than what was seen since."""
        if self._known is not None:
            self._known.forget(partitions)

    def keep_up(self, partitions: Iterable[TopicPartition]) -> None:
        """See `KnownLedgers.keep_up`. A stream calls it at its triggers."""
        if self._known is not None:
            self._known.keep_up(partition for partition in partitions if not partition.is_segment)

    def closed_ledgers(
        self, positions: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, tuple[Position, Position]]:
        """Return where the ledger of each position ends and where the next one begins, as they are now; of those whose
        ledger is closed. Raises the errors of `AdminClient`."""
        if self._known is None:
            return {}
        present = self._known.look(partition for partition in positions if not partition.is_segment)
        return {
            partition: (Position(ledger.id, ledger.entries), Position(following.id, 0))
            for partition, known in present.items()
            for ledger, following in pairwise(known.ledgers)
            if ledger.id == positions[partition].ledger and not ledger.is_open
        }

    def first_in_time(self, requests: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        """Where messages of each window begin at the earliest, as ledgers tell; its start where they are not known.

        Raises the errors of `AdminClient`, as `plan` does.
        """
        given = [request for request in requests if not request.is_empty]
        behind = given
        if self._tiered is not None:
            self._tiered.find(self._before_open_ledger(given))
            behind = [request for request in given if self._tiered.tiered(request) is None]
        spans = self._spans(behind, self._ledgers(behind))
        return {
            request.partition: request.within(*spans.get(request.partition, _NO_SPAN)).start
            for request in given
        }

    @property
    def tables(self) -> KnownTables | None:
        """None where the options let no read take rows of tables."""
        return None if self._tiered is None else self._tiered.tables

    def skip_tables(
        self, positions: Mapping[TopicPartition, Position], *, at_once: bool = False
    ) -> dict[TopicPartition, Position]:
        """Return the positions, moved to the end of the topic's table where that is later: brokers may know nothing of
        what is before. `at_once`: use the tables as they are now, and not as they were when they were last loaded.
        Raises the errors of `KnownTables.refresh`."""
        return dict(positions) if self._tiered is None else self._tiered.skip(positions, at_once=at_once)

    def plan(self, requests: Iterable[RangeRequest]) -> list[PartitionPlan]:
        """Sorted by topic partition, at most one request for each.

        Raises `DataLossError`, `LedgerUnavailable`, the errors of `KnownTables`, and the errors of `AdminClient` but
        for a right that only `readFrom=auto` or `broker` can do without.
        """
        requests = sorted(requests, key=lambda request: request.partition)
        behind, known = self._behind_tables(requests)
        tiered = {
            request.partition: None if self._tiered is None else self._tiered.tiered(request)
            for request in requests
        }
        if not known:
            self._tell_limits(requests)
        for request in behind:
            self._check_loss(request, known.get(request.partition))
        spans = self._spans(behind, known)
        narrowed = [request.within(*spans.get(request.partition, _NO_SPAN)) for request in behind]
        ranges = {
            request.partition: self._ledger_ranges(request, known.get(request.partition))
            for request in narrowed
        }
        known, located = self._located(known, ranges)
        whole = [
            request if part is None else part.joined(request)
            for part, request in zip(tiered.values(), narrowed, strict=True)
        ]
        splits = splits_by_partition(
            self._options,
            self._client,
            whole,
            {
                request.partition: [
                    *([] if self._tiered is None else self._tiered.file_ranges(tiered[request.partition])),
                    *located[request.partition],
                ]
                for request in narrowed
            },
        )
        return [
            PartitionPlan(
                request.partition,
                request.start,
                request.end,
                known.get(request.partition),
                tuple(splits.get(request.partition, ())),
            )
            for request in whole
        ]

    # Tables

    def _before_open_ledger(self, requests: Iterable[RangeRequest]) -> list[RangeRequest]:
        """Those that begin before the ledger that is written to: others need no table."""
        return [
            request
            for request in requests
            if not request.is_empty and (self._known is None or not self._known.is_enough(request))
        ]

    def _behind_tables(
        self, requests: Sequence[RangeRequest]
    ) -> tuple[list[RangeRequest], dict[TopicPartition, TopicLedgers]]:
        """What is left of ranges for the topics' ledgers, and these ledgers."""
        tiered = self._tiered
        if tiered is None:
            return list(requests), self._ledgers([request for request in requests if not request.is_empty])
        tiered.find(self._before_open_ledger(requests))
        behind = [tiered.behind(request) for request in requests]
        known = self._ledgers(
            [request for request in behind if not request.is_empty or tiered.begins_at_end(request)]
        )
        if tiered.find_newer(behind, known):
            behind = [tiered.behind(request) for request in requests]
        if tiered.check(requests, known):
            behind = [tiered.behind(request) for request in requests]
        return behind, known

    # Ledgers, loss, narrowing

    def _ledgers(self, requests: Sequence[RangeRequest]) -> dict[TopicPartition, TopicLedgers]:
        """Of those whose ledgers are known; of segments of scalable topics nobody knows them."""
        if self._known is None:
            return {}
        asked = [request for request in requests if not request.partition.is_segment]
        if self._tiered is None and self._options.read_from in (AUTO, BROKER):
            small = small_ranges(self._options, asked)
            asked = [request for request in asked if request.partition not in small]
        try:
            return self._known.fetch(asked)
        except PermissionDenied as fault:
            if self._options.read_from not in (AUTO, BROKER):
                raise
            self._tell(f"all is read from the broker, one split for each topic partition: {fault}")
            return {}

    def _check_loss(self, request: RangeRequest, ledgers: TopicLedgers | None) -> None:
        if ledgers is None or self._known is None or not ledgers.ledgers:
            return
        if self._tiered is not None:
            doubtful = self._tiered.doubtful(request, ledgers)
            if doubtful is None:
                return
            request = doubtful
        if request.is_empty:
            return
        until = ledgers.compacted_until if self._options.read_compacted else None
        # What compaction has seen is in its view, whatever became of the ledgers.
        is_in_doubt = not self._options.read_compacted or (until is not None and request.start > until)
        if is_in_doubt and not request.is_whole:
            check_loss(
                request.partition,
                ledgers,
                EARLIEST if request.from_earliest else request.start,
                request.end,
                fail=self._options.fail_on_data_loss,
                former=self._known.seen(request.partition),
            )

    def _spans(
        self, requests: Iterable[RangeRequest], known: Mapping[TopicPartition, TopicLedgers]
    ) -> dict[TopicPartition, Span]:
        """Where the messages of each window can lie, of those whose ledgers are known."""
        return self._borders.spans(
            {
                request.partition: WindowedRange(
                    known[request.partition].ledgers, request.start, request.end, request.window
                )
                for request in requests
                if request.partition in known and not request.is_empty
            }
        )

    # Ranges, placement

    def _ledger_ranges(self, request: RangeRequest, ledgers: TopicLedgers | None) -> list[LedgerRange]:
        if request.is_empty:
            return []
        if self._options.read_compacted:
            return compacted_ranges(ledgers, request.start, request.end)
        if ledgers is None:
            return ledger_ranges(None, request.start_in_ledger, request.end)
        return ledger_ranges(ledgers.ledgers, request.start, request.end)

    def _located(
        self, known: dict[TopicPartition, TopicLedgers], ranges: Mapping[TopicPartition, list[LedgerRange]]
    ) -> tuple[dict[TopicPartition, TopicLedgers], Mapping[TopicPartition, list[LedgerRange]]]:
        """The same with where each range is read from, and what became known of the ledgers on the way."""
        closed = {
            partition: {
                ledger_range.ledger.id
                for ledger_range in ranges[partition]
                if ledger_range.ledger and not ledger_range.ledger.is_open
            }
            for partition in known
        }
        if (
            self._admin is None
            or self._known is None
            or not self.may_read_directly
            or not any(closed.values())
        ):
            return known, ranges
        views = any(ledger_range.is_compacted for parts in ranges.values() for ledger_range in parts)
        touched = {partition: (known[partition], ids) for partition, ids in closed.items()}
        ahead, self._bookies = self._bookies, None
        placement, known = find_placement(self._options, self._admin, touched, views=views, ahead=ahead)
        self._known.update(known)
        for note in placement.notes:
            self._tell(note)
        return known, {
            partition: placement.locate(partition, parts, known.get(partition))
            for partition, parts in ranges.items()
        }

    # What the user should know

    def _tell_limits(self, requests: Iterable[RangeRequest]) -> None:
        options = self._options
        if self._admin is not None:
            return
        if any(request.window.bounds_publish_times for request in requests):
            self._tell(
                "the asked times bound the rows, and not what is fetched: with option admin.url, ledgers outside of "
                "them would not be read"
            )
        if options.split_by == BY_KEY:
            return
        if options.min_partitions is not None or options.max_records_per_partition is not None:
            self._tell("without option admin.url, only a range inside one ledger can be cut into splits")

    def _tell(self, text: str) -> None:
        """Once for each planner."""
        if text not in self._told:
            self._told[text] = None
            _log.warning("%s", text)
