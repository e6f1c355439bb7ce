"""`spark.readStream.format("pulsar")`: every micro-batch is a bounded range, planned like a batch.

The reader lives in one driver process for each query; only end offsets reach Spark's checkpoint (see
`read.offset` for what follows from that).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from pyspark_pulsar.client.admin import AdminClient
from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.interpreter import Shipped
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.process_log import show_warnings
from pyspark_pulsar.read.attempt import new_run, present_attempt
from pyspark_pulsar.read.bounds import EARLIEST_TEXT, LATEST_TEXT, check_reachable, resolve_bound
from pyspark_pulsar.read.discovery import discover_partitions, discover_topics
from pyspark_pulsar.read.loss import advanced
from pyspark_pulsar.read.offset import StreamOffset
from pyspark_pulsar.read.plan import Asked, SplitPlanner, splits_of
from pyspark_pulsar.read.schema_watch import SchemaWatch
from pyspark_pulsar.read.tails import Tails
from pyspark_pulsar.read.task import read_split
from pyspark_pulsar.read.times import Window, check_names, starting_time
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.topic import TopicPartition


class PulsarStreamReader(Shipped, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`read` runs on executors, everything else in the query's driver process. Connects at first use."""

    def __init__(self, options: ReadOptions, schema: ReadSchema) -> None:
        show_warnings()
        self._options = options
        self._schema = schema
        self._run = new_run()
        self._open: _Open | None = None
        self._frozen: dict[TopicPartition, Position] | None = None
        self._latest: dict[str, Any] | None = None

    def shipped_state(self) -> dict[str, Any]:
        """A task needs neither the driver's connections nor its view of the ends."""
        return {"_options": self._options, "_schema": self._schema, "_run": self._run}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """A symbol: Spark asks twice, and each answer must mean the same."""
        time = starting_time(self._options)
        start = self._options.starting_offsets or (LATEST_TEXT if time is None else EARLIEST_TEXT)
        return StreamOffset(start=start, published_from=time).to_json()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802
        """The ends now, or those seen when Trigger.AvailableNow began. Limits: all that is available.

        Raises `DataLossError` when a topic ends before the position that the query has reached.
        """
        former = StreamOffset.from_json(start)
        ends = self._frozen if self._frozen is not None else self._ends()
        time = former.published_from
        self._latest = StreamOffset(ends, published_from=time).to_json()
        if former.start is not None:
            partitions = sorted(ends)
            check_names("startingOffsetsByTimestamp", time, partitions)
            starts = resolve_bound("startingOffsets", former.start, partitions, ends)
            check_reachable("startingOffsets", starts, self._opened().tails.reachable(ends))
            return StreamOffset(ends, starts, published_from=time).to_json()
        if self._options.read_compacted:
            # Compaction may have removed the last messages that the query has read.
            ends = ends | {p: max(end, ends[p]) for p, end in former.positions.items() if p in ends}
        self._opened().planner.keep_up(ends)
        positions, starts = advanced(former.positions, ends, fail=self._options.fail_on_data_loss)
        return StreamOffset(positions, starts, published_from=time).to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._frozen = self._ends()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return self._latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Splits between two offsets; also called for the last planned micro-batch after a restart."""
        former, reached = StreamOffset.from_json(start), StreamOffset.from_json(end)
        time = reached.published_from
        asked = [
            Asked(
                partition,
                reached.start_of(partition, former),
                position,
                Window(from_ms=time.of(partition) if time is not None else None),
            )
            for partition, position in reached.positions.items()
        ]
        opened = self._opened()
        if opened.planner.may_read_directly:
            opened.tails.show_rights(each.partition for each in asked if not each.is_empty)
        return [InputPartition(split) for split in splits_of(opened.planner.plan(asked))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_split(self._options, self._schema, partition.value, present_attempt(self._run))

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: this read leaves no cursor in Pulsar."""

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()

    def _ends(self) -> dict[TopicPartition, Position]:
        opened = self._opened()
        topics = discover_topics(opened.client, self._options)
        opened.watch.look(topics)
        return opened.tails.ends(discover_partitions(opened.client, topics))

    def _opened(self) -> _Open:
        if self._open is None:
            self._open = _Open(self._options, self._schema)
        return self._open


class _Open:
    """What the driver keeps while the query runs: connections, and what they have told."""

    def __init__(self, options: ReadOptions, schema: ReadSchema) -> None:
        self.client = BrokerClient(options)
        self._admin = AdminClient(options) if options.admin_url is not None else None
        self.tails = Tails(self.client, read_compacted=options.read_compacted)
        self.watch = SchemaWatch(schema, self.client.schema)
        self.planner = SplitPlanner(options, self.client, self._admin)

    def close(self) -> None:
        self.client.close()
        if self._admin is not None:
            self._admin.close()
