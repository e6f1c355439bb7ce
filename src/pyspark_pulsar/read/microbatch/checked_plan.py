"""The plan of a micro-batch, and the proof that none of its messages was removed unread. Driver only.

    step      result                                             requests to
    requests  the range of each topic partition, from the        -
              micro-batch's offsets
    removed   the entries that were removed after the starts of  the tables' catalog, brokers
              ranges, if no table contains them; tables are
              loaded again before a removal is reported
    retained  no removed entries, if the query's subscription    brokers
              is at or before the start of the range
    loss      an error for removed messages                      -
    rights    an error if this role may not consume a topic      brokers, for ranges read from elsewhere
    plan      splits                                             see `planning.planner`
    again     all steps once more, if ledgers were removed       brokers
              between the broker's answer and the list of
              ledgers

A broker does not know the number of entries in a removed ledger (`RemovedEntries.is_unclear`). But the planner may have
listed that ledger before its removal. So the planner's check decides whether such a range has lost messages. If the
planner has not listed the ledger either, the range is reported as data loss.

A query with a subscription has a stronger proof. Brokers never remove an entry after the cursor of a durable
subscription. So if the cursor is at or before the start of a range, the removed ledger ended at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.log_end import LogEnds, RemovedEntries
from pyspark_pulsar.read.microbatch.ends.readable_ends import ReadableEnds
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.planning.ledgers.data_loss import check_removed, is_cut_off
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.planning.planner import SplitPlanner


class CheckedPlanner:
    """A planner of the micro-batches of one query. Used by one thread."""

    def __init__(
        self,
        options: ReadOptions,
        log_ends: LogEnds,
        readable_ends: ReadableEnds,
        planner: SplitPlanner,
        retained_from: Callable[[Collection[TopicPartition]], Positions],
    ) -> None:
        """Store the parts of one query. The query closes them itself.

        `retained_from` returns positions after which brokers remove no message before the query has read it.
        """
        self._options = options
        self._log_ends = log_ends
        self._readable_ends = readable_ends
        self._planner = planner
        self._retained_from = retained_from

    def plan(self, former: StreamOffset, reached: StreamOffset) -> list[PartitionPlan]:
        """Return the plan of the micro-batch from the offset `former` to the offset `reached`.

        Raises:
            DataLossError: Messages were removed before they were read. With `failOnDataLoss=false`, the loss is logged.
            PulsarError: For the same reasons as `SplitPlanner.plan`.

        """
        starts = self._readable_ends.skip_unseen(reached.starts_from(former), former)
        requests = [
            RangeRequest(partition, starts[partition], position, reached.window_of(partition))
            for partition, position in reached.positions.items()
        ]
        return self._planned([request for request in requests if not request.is_empty])

    def _planned(self, requests: Sequence[RangeRequest]) -> list[PartitionPlan]:
        fail = self._options.fail_on_data_loss
        starts, removed = self._removed(requests)
        unclear = {
            partition
            for partition, entries in removed.items()
            if entries.is_unclear and self._planner.ledgers.is_possible
        }
        self._planner.ledgers.forget_ahead(removed)
        clear = {partition: entries for partition, entries in removed.items() if partition not in unclear}
        deleted = check_removed(starts, clear, fail=fail)
        present = [request for request in requests if request.partition not in deleted]
        if self._planner.may_read_directly:
            self._log_ends.check_permissions(request.partition for request in present)
        plans = self._planner.plan(
            replace(request, is_whole=request.partition not in unclear and not self._options.read_compacted)
            for request in present
        )
        unseen = {plan.partition for plan in plans if plan.ledgers is None} & unclear
        check_removed(starts, {partition: removed[partition] for partition in unseen}, fail=fail)
        whole = {partition: start for partition, start in starts.items() if partition not in removed}
        return self._planned(requests) if self._were_removed_since(whole, plans) else plans

    def _removed(
        self, requests: Sequence[RangeRequest]
    ) -> tuple[dict[TopicPartition, Position], dict[TopicPartition, RemovedEntries]]:
        """Return the starts of the ranges that are read from ledgers, and the entries removed after these starts."""
        ends = {request.partition: request.end for request in requests}
        starts = {request.partition: request.start for request in requests}
        removed: dict[TopicPartition, RemovedEntries] = {}
        # If a table was loaded earlier, its present state may contain the removed entries.
        for at_once in (False, True):
            skipped = self._planner.skip_tables(starts, at_once=at_once)
            starts = {partition: start for partition, start in skipped.items() if start < ends[partition]}
            removed = self._log_ends.removed(starts)
            if not removed:
                break
        return starts, self._without_retained(starts, removed)

    def _without_retained(
        self, starts: Positions, removed: dict[TopicPartition, RemovedEntries]
    ) -> dict[TopicPartition, RemovedEntries]:
        """Return the partitions of `removed` whose messages the query's subscription does not retain."""
        present = [partition for partition, entries in removed.items() if entries.first_left is not None]
        retained = self._retained_from(present)
        whole = {
            partition
            for partition in present
            if partition in retained and retained[partition] <= starts[partition]
        }
        return {partition: entries for partition, entries in removed.items() if partition not in whole}

    def _were_removed_since(self, starts: Positions, plans: Sequence[PartitionPlan]) -> bool:
        """Return whether ledgers were removed between the brokers' answers and the planner's list of ledgers.

        When brokers answered, no entry after `starts` was removed.
        """
        ledgers = {plan.partition: plan.ledgers for plan in plans}
        cut_off = {
            partition: start
            for partition, start in starts.items()
            if (present := ledgers.get(partition)) is not None and is_cut_off(start, present)
        }
        if not cut_off or self._options.read_compacted:
            return False
        return bool(self._without_retained(cut_off, self._log_ends.removed(cut_off, anew=True)))
