"""`spark.readStream.format("pulsar")`: every micro-batch is a bounded range, planned like a batch.

The reader lives in one driver process for each query; only end offsets reach Spark's checkpoint (see
`microbatch.offset` for what follows from that).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.codec.changes import Changes
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST, FROM_LATEST
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.bounds.offsets import check_reachable, resolve_bound
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.subscription import behind_removed, subscription_positions
from pyspark_pulsar.read.bounds.timestamps import STARTING_TIMES, check_names
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.log_end import LogEnds, RemovedEntries
from pyspark_pulsar.read.microbatch.backlog_counter import BacklogCounter
from pyspark_pulsar.read.microbatch.checkpoint_topics import abandoned_topics
from pyspark_pulsar.read.microbatch.end import StreamEnd
from pyspark_pulsar.read.microbatch.idle_pause import IdlePause
from pyspark_pulsar.read.microbatch.limits import MicroBatches
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.progress.query_progress import QueryProgress
from pyspark_pulsar.read.microbatch.progress.split_counts import SplitCounts
from pyspark_pulsar.read.microbatch.readable_ends import ReadableEnds, behind_closed
from pyspark_pulsar.read.microbatch.schemas import SchemaWatch
from pyspark_pulsar.read.microbatch.segment_order import check_missed, drained_by, held_back
from pyspark_pulsar.read.microbatch.topics import TopicWatch, without_deleted
from pyspark_pulsar.read.planning.ledgers.data_loss import advanced, check_removed, is_cut_off
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan, splits_of
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.read.planning.splits.tasks import tasks_of
from pyspark_pulsar.read.task.reader import read_splits
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.logging import show_warnings
from pyspark_pulsar.spark.read_limits import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark_pulsar.spark.shipped import Shipped
from pyspark_pulsar.spark.task_context import new_run, present_attempt
from pyspark_pulsar.spark.tracebacks import hides_tracebacks
from pyspark_pulsar.time_window import TimeWindow
from pyspark_pulsar.topic import TopicPartition
from pyspark_pulsar.topic_layout import TopicLayout


@hides_tracebacks
class PulsarStreamReader(Shipped, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`read` runs on executors, everything else in the query's driver process. Connects at first use."""

    def __init__(self, options: ReadOptions, schema: ReadSchema, changes: Changes | None = None) -> None:
        show_warnings()
        self._options = options
        self._schema = schema
        self._changes = changes
        self._run = new_run()
        self._open: _QueryResources | None = None
        self._frozen: Mapping[TopicPartition, Position] | None = None
        self._layouts: Sequence[TopicLayout] = ()
        """Of the scalable topics, as they were just before the last ends."""
        self._latest: dict[str, Any] | None = None
        self._abandoned: frozenset[TopicPartition] | None = None
        self._split_counts = SplitCounts()

    def shipped_state(self) -> dict[str, Any]:
        """A task needs neither the driver's connections nor its view of the ends."""
        kept = ("_options", "_schema", "_changes", "_run")
        return {name: getattr(self, name) for name in kept}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """A symbol: Spark asks twice, and each answer must mean the same."""
        published_from = self._options.published_from
        default = FROM_LATEST if published_from is None else FROM_EARLIEST
        start = self._options.starting_offsets or default
        return StreamOffset(start=start, published_from=published_from).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Spark knows one limit at a time, and gives it back to `latestOffset`, where any but "all" stands for all
        options of limits."""
        options = self._options
        if options.max_records_per_trigger is not None:
            return ReadMaxRows(options.max_records_per_trigger)
        if options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(options.max_bytes_per_trigger)
        if options.min_offsets_per_trigger is not None:
            return ReadMinRows(options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The ends now, or those seen when Trigger.AvailableNow began, as far as the options allow unless `limit` is
        "all"; `start` itself when there is nothing to read, or not enough. Waits up to a second where that was so for
        long (`idle_pause`).

        Raises `DataLossError` when a topic is deleted, or ends before the position that the query has reached, and
        `OptionError` when the checkpoint holds topics that the options do not name.
        """
        former = StreamOffset.from_json(start)
        self._check_topics(former.positions)
        opened = self._opened()
        opened.readable_ends.recall(former.positions, former.passed)
        if self._frozen is None:
            opened.idle_pause.before_asking()
        ends = (
            self._frozen
            if self._frozen is not None
            else self._ends(former.positions, comes_again=_from_earliest(former))
        )
        opened.end.settle(ends)
        reached = self._in_order(former, self._reached(former, ends), ends)
        # Where this micro-batch begins is committed; what holds the messages from there on is there before they are
        # planned.
        begin = {partition: reached.start_of(partition, former) for partition in reached.positions}
        goal = reached.positions
        if not isinstance(limit, ReadAllAvailable):
            waits = self._frozen is None and former.start is None
            reached = opened.micro_batches.admitted(former, reached, waits=waits)
        if self._frozen is not None or opened.end.is_reached(reached.positions):
            # The run ends by itself. Its last progress must not count what its last micro-batch reads.
            lag = self._begin(begin, goal, reached.positions)
        else:
            lag = self._begin(
                begin, {partition: end for partition, end in ends.items() if partition in begin}, begin
            )
        self._latest = StreamOffset(ends, published_from=former.published_from).to_json() | {"lag": lag}
        drained = drained_by(self._layouts, reached.positions, ends, former.drained)
        reached = replace(reached, drained=frozenset(drained & reached.positions.keys()))
        reached = replace(reached, passed=self._passed(former, reached, ends))
        if opened.end.is_reached(reached.positions):
            reached = replace(reached, ended=self._run)
        if reached.goes_no_further_than(former):
            return start
        opened.idle_pause.news()
        return reached.to_json()

    def _begin(self, committed: Positions, ends: Positions, counted_from: Positions) -> dict[str, Any]:
        """See `QueryProgress.begin`."""
        return self._opened().progress.begin(committed, ends, counted_from)

    def _reached(self, former: StreamOffset, ends: Mapping[TopicPartition, Position]) -> StreamOffset:
        """As far as `ends` and the ends of the query let it go."""
        opened = self._opened()
        if former.start is not None:
            starts = self._starts(former, ends)
            self._search_ends(starts, ends, former.published_from)
            positions = opened.end.limited(ends, starts)
            starts = {partition: start for partition, start in starts.items() if partition in positions}
        else:
            positions, starts = self._continued(former, ends)
        return StreamOffset(
            positions,
            starts,
            published_from=former.published_from,
            published_before=opened.end.published_before,
        )

    def _passed(
        self, former: StreamOffset, reached: StreamOffset, ends: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, Position]:
        """As `StreamOffset.passed`, of what the micro-batch does not move."""
        opened = self._opened()
        rest = {
            partition: position
            for partition, position in reached.positions.items()
            if former.positions.get(partition) == position and partition not in reached.starts
        }
        stands = opened.readable_ends.behind(rest)
        stands |= opened.log_ends.proved(stands)
        in_ledger = {
            partition: stand
            for partition, stand in stands.items()
            if stand.ledger == rest[partition].ledger and not (stand.is_earliest or partition.is_segment)
        }
        if self._options.read_compacted:
            return {}
        if self._frozen is None:
            shows_none = {
                partition: stand
                for partition, stand in in_ledger.items()
                if ends.get(partition, stand).is_earliest
            }
            stands |= opened.log_ends.first_left(shows_none)
        elif not opened.has_looked_at_closed:
            opened.has_looked_at_closed = True
            stands |= behind_closed(opened.client, opened.planner, in_ledger)
        passed = {
            partition: stand for partition, stand in stands.items() if stand.ledger > rest[partition].ledger
        }
        opened.readable_ends.recall(rest, passed)
        return passed

    def _in_order(
        self, former: StreamOffset, reached: StreamOffset, ends: Mapping[TopicPartition, Position]
    ) -> StreamOffset:
        """`reached`, without what must wait for other segments of a scalable topic."""
        if not self._layouts:
            return reached
        begin = {partition: reached.start_of(partition, former) for partition in reached.positions}
        has_ended = self._opened().end.has_ended
        held = held_back(self._layouts, begin, reached.positions, ends, former.drained, has_ended)
        return replace(reached, positions=held)

    def _starts(
        self, former: StreamOffset, ends: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, Position]:
        """Where a new query begins."""
        opened, partitions = self._opened(), sorted(ends)
        check_names(STARTING_TIMES, former.published_from, partitions)
        name = self._options.starting_subscription
        if name is not None:
            starts = subscription_positions(opened.client, opened.admin, name, partitions, ends)
            return behind_removed(starts, opened.log_ends)
        starts = resolve_bound("startingOffsets", former.start or FROM_LATEST, partitions, ends)
        check_reachable("startingOffsets", starts, opened.log_ends.reachable(ends))
        return starts

    def _search_ends(
        self,
        starts: Mapping[TopicPartition, Position],
        ends: Mapping[TopicPartition, Position],
        published_from: TimeBound | None,
    ) -> None:
        """Behind where the messages begin that the query's time lets it read."""
        opened = self._opened()
        if not opened.end.searches:
            return
        if published_from is not None:
            starts = dict(starts) | opened.planner.first_in_time(
                RangeRequest(
                    partition, EARLIEST, end, TimeWindow(published_from=published_from.of(partition))
                )
                for partition, end in ends.items()
                if starts.get(partition, EARLIEST).is_earliest
            )
        opened.end.search(starts, ends, published_from)

    def _continued(
        self, stood: StreamOffset, ends: Mapping[TopicPartition, Position]
    ) -> tuple[dict[TopicPartition, Position], dict[TopicPartition, Position]]:
        """Where a query that stood at an offset stands next, and where it reads partitions anew."""
        opened, fail = self._opened(), self._options.fail_on_data_loss
        abandoned = self._abandoned or frozenset()
        former = {
            partition: position
            for partition, position in stood.positions.items()
            if partition not in abandoned
        }
        if self._options.read_compacted:
            # Compaction may have removed the last messages that the query has read.
            ends = {partition: max(end, former.get(partition, end)) for partition, end in ends.items()}
        opened.planner.keep_up(ends)
        if not opened.end.is_given:
            # One that ends at positions never reads the segments that come later.
            check_missed(self._layouts, former, fail=fail)
        former = without_deleted(former, ends, opened.topics.deleted, drained=stood.drained, fail=fail)
        positions, starts = advanced(former, ends, fail=fail)
        reached = {partition: position for partition, position in former.items() if partition not in starts}
        self._search_ends(reached, positions, stood.published_from)
        return opened.end.limited(positions, reached), starts

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._frozen = self._ends({}, comes_again=False)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """The ends that were just seen; under `"lag"`, how far the query is behind them (`progress.lag`);
        under `"readers"`, how many splits of the last micro-batch that was planned are read from where."""
        return None if self._latest is None else self._latest | {"readers": self._split_counts.by_place}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Splits between two offsets; also called for the last planned micro-batch after a restart."""
        former, reached = StreamOffset.from_json(start), StreamOffset.from_json(end)
        self._check_topics({**former.positions, **reached.positions})
        self._opened().readable_ends.recall(former.positions, former.passed)
        starts = {partition: reached.start_of(partition, former) for partition in reached.positions}
        starts = self._opened().readable_ends.behind(starts)
        requests = [
            RangeRequest(partition, starts[partition], position, reached.window_of(partition))
            for partition, position in reached.positions.items()
        ]
        splits = splits_of(self._planned([request for request in requests if not request.is_empty]))
        self._split_counts.count(splits)
        return [InputPartition(task) for task in tasks_of(self._options, splits)]

    def _planned(self, requests: Sequence[RangeRequest]) -> list[PartitionPlan]:
        """Raises `DataLossError` for what was removed before it was read; with `failOnDataLoss=false` it is logged."""
        opened, fail = self._opened(), self._options.fail_on_data_loss
        starts, removed = self._removed(requests)
        # The planner may have seen the ledgers before they went.
        unclear = {partition for partition, what in removed.items() if what.is_unclear and opened.admin}
        opened.planner.forget_ahead(removed)
        deleted = check_removed(
            starts,
            {partition: what for partition, what in removed.items() if partition not in unclear},
            fail=fail,
        )
        present = [request for request in requests if request.partition not in deleted]
        if opened.planner.may_read_directly:
            opened.log_ends.show_rights(request.partition for request in present)
        plans = opened.planner.plan(
            replace(request, is_whole=request.partition not in unclear and not self._options.read_compacted)
            for request in present
        )
        unseen = {plan.partition for plan in plans if plan.ledgers is None} & unclear
        check_removed(starts, {partition: removed[partition] for partition in unseen}, fail=fail)
        if self._were_removed_since({p: start for p, start in starts.items() if p not in removed}, plans):
            return self._planned(requests)
        return plans

    def _were_removed_since(self, starts: Positions, plans: Sequence[PartitionPlan]) -> bool:
        """Whether ledgers went after brokers had said that nothing is removed behind these starts, and before the
        planner has listed what is left."""
        ledgers = {plan.partition: plan.ledgers for plan in plans}
        cut_off = {
            partition: start
            for partition, start in starts.items()
            if (present := ledgers.get(partition)) is not None and is_cut_off(start, present)
        }
        if not cut_off or self._options.read_compacted:
            return False
        return bool(self._opened().log_ends.removed(cut_off, anew=True))

    def _removed(
        self, requests: Sequence[RangeRequest]
    ) -> tuple[dict[TopicPartition, Position], dict[TopicPartition, RemovedEntries]]:
        """Where the ranges begin that are to come from the topics' ledgers, and what was removed behind that."""
        opened = self._opened()
        ends = {request.partition: request.end for request in requests}
        starts = {request.partition: request.start for request in requests}
        removed: dict[TopicPartition, RemovedEntries] = {}
        # Where something is gone, tables may have come to hold it since they were loaded.
        for at_once in (False, True):
            behind = opened.planner.behind_tables(starts, at_once=at_once)
            starts = {partition: start for partition, start in behind.items() if start < ends[partition]}
            removed = opened.log_ends.removed(starts)
            if not removed:
                break
        return starts, removed

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark runs one task with the value None when `partitions` is empty.
        if partition is None or partition.value is None:
            return iter(())
        self.begin_task()
        rows = read_splits(self._options, self._schema, partition.value, present_attempt(self._run))
        return rows if self._changes is None else self._changes.rows(rows)

    def commit(self, end: dict[str, Any]) -> None:
        """Spark calls it when it plans the next micro-batch, after `latestOffset`, and so never for the last one: all
        has been done there."""
        self._opened().idle_pause.news()
        self._opened().progress.commit(StreamOffset.from_json(end).positions)

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()

    def _ends(
        self, reached: Mapping[TopicPartition, Position], *, comes_again: bool
    ) -> Mapping[TopicPartition, Position]:
        """Of all topic partitions that there are. `reached`: where the query stands. `comes_again`: as in
        `LogEnds.present_ends`."""
        opened = self._opened()
        present = opened.topics.present()
        self._layouts = present.layouts
        if opened.is_new:
            opened.is_new = False
            opened.planner.ask_ahead(present.partitions)
        # What tables hold brokers may have removed.
        standing = opened.planner.behind_tables(opened.readable_ends.behind(reached))
        shown = opened.log_ends.present_ends(present.partitions, standing, comes_again=comes_again)
        ends = opened.planner.behind_tables(shown)
        opened.readable_ends.look(reached, ends)
        # After the ends were seen: a message before them has its topic's schema registered.
        opened.schemas.check(present.topics)
        return ends

    def _check_topics(self, held: Mapping[TopicPartition, Position]) -> None:
        """Before anything else is done with the first offset that Spark gives; later ones come from here. Raises
        `OptionError`."""
        if self._abandoned is None:
            self._abandoned = abandoned_topics(self._options, held, self._opened().topics.deleted)

    def _opened(self) -> _QueryResources:
        if self._open is None:
            self._open = _QueryResources(self._options, self._schema)
        return self._open


def _from_earliest(stood: StreamOffset) -> bool:
    """Whether what a topic partition does not show yet will be read when it does: it is not where the query starts."""
    return stood.start is None or stood.start == FROM_EARLIEST


class _QueryResources:
    """What the driver keeps while the query runs: connections, and what they have told."""

    def __init__(self, options: ReadOptions, schema: ReadSchema) -> None:
        # A query outlives a broker that is away for as long as a task would wait.
        patience_ms = max(options.operation_timeout_ms, options.poll_timeout_ms)
        self.client = BrokerClient(options, patience_ms)
        self.admin = AdminClient.for_planning(options, patience_ms) if options.admin_url is not None else None
        self.topics = TopicWatch(self.client, self.admin, options)
        self.end = StreamEnd(options)
        self.log_ends = LogEnds(self.client, self.admin, read_compacted=options.read_compacted)
        self.readable_ends = ReadableEnds(options)
        self.schemas = SchemaWatch(schema, self.client.schema, skips_bad_rows=options.mode != "FAILFAST")
        self.planner = SplitPlanner(options, self.client, self.admin)
        self.is_new = True
        """No ends were asked for yet."""
        self.has_looked_at_closed = False
        """`Trigger.AvailableNow` has asked which ledgers are read to their end."""
        self.idle_pause = IdlePause()
        self.progress = QueryProgress(options, self.client, self.planner)
        counter = partial(BacklogCounter, tables=self.planner.tables)
        self.micro_batches = MicroBatches(options, self.planner, make_counter=counter)

    def close(self) -> None:
        self.micro_batches.close()
        self.progress.close()
        self.end.close()
        self.readable_ends.close()
        self.client.close()
        if self.admin is not None:
            self.admin.close()
