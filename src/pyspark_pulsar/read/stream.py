"""`spark.readStream.format("pulsar")`: every micro-batch is a bounded range, planned like a batch.

The reader lives in one driver process for each query; only end offsets reach Spark's checkpoint (see
`read.offset` for what follows from that).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.interpreter import Shipped
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.process_log import show_warnings
from pyspark_pulsar.read.bounds import LATEST_TEXT, check_reachable, resolve_bound
from pyspark_pulsar.read.discovery import discover_partitions, discover_topics
from pyspark_pulsar.read.offset import StreamOffset
from pyspark_pulsar.read.plan import plan_splits
from pyspark_pulsar.read.schema_watch import SchemaWatch
from pyspark_pulsar.read.tails import Tails
from pyspark_pulsar.read.task import read_split
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.topic import TopicPartition


class PulsarStreamReader(Shipped, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`read` runs on executors, everything else in the query's driver process. Connects at first use."""

    def __init__(self, options: ReadOptions, schema: ReadSchema) -> None:
        show_warnings()
        self._options = options
        self._schema = schema
        self._tails: Tails | None = None
        self._client: BrokerClient | None = None
        self._watch: SchemaWatch | None = None
        self._frozen: dict[TopicPartition, Position] | None = None
        self._latest: dict[str, Any] | None = None

    def shipped_state(self) -> dict[str, Any]:
        """A task needs neither the driver's connections nor its view of the ends."""
        return {"_options": self._options, "_schema": self._schema}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """A symbol: Spark asks twice, and each answer must mean the same."""
        return StreamOffset(start=self._options.starting_offsets or LATEST_TEXT).to_json()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802
        """The ends now, or those seen when Trigger.AvailableNow began. Limits: all that is available.

        Raises `DataLossError` when a topic ends before the position that the query has reached.
        """
        former = StreamOffset.from_json(start)
        ends = self._frozen if self._frozen is not None else self._ends()
        self._latest = StreamOffset(ends).to_json()
        if former.start is not None:
            partitions = sorted(ends)
            starts = resolve_bound("startingOffsets", former.start, partitions, ends)
            check_reachable("startingOffsets", starts, self._reachable(ends))
            return StreamOffset(ends, starts).to_json()
        if self._options.read_compacted:
            # Compaction may have removed the last messages that the query has read.
            ends = ends | {p: max(end, ends[p]) for p, end in former.positions.items() if p in ends}
        return StreamOffset(_advanced(former.positions, ends)).to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._frozen = self._ends()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return self._latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Splits between two offsets; also called for the last planned micro-batch after a restart."""
        former, reached = StreamOffset.from_json(start), StreamOffset.from_json(end)
        starts = {partition: reached.start_of(partition, former) for partition in reached.positions}
        return [InputPartition(split) for split in plan_splits(starts, reached.positions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_split(self._options, self._schema, partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: this read leaves no cursor in Pulsar."""

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    def _ends(self) -> dict[TopicPartition, Position]:
        if self._client is None or self._tails is None or self._watch is None:
            self._client = BrokerClient(self._options)
            self._tails = Tails(self._client, read_compacted=self._options.read_compacted)
            self._watch = SchemaWatch(self._schema, self._client.schema)
        topics = discover_topics(self._client, self._options)
        self._watch.look(topics)
        return self._tails.ends(discover_partitions(self._client, topics))

    def _reachable(self, ends: dict[TopicPartition, Position]) -> dict[TopicPartition, Position]:
        return ends if self._tails is None else self._tails.reachable(ends)


def _advanced(
    former: Mapping[TopicPartition, Position], ends: Mapping[TopicPartition, Position]
) -> dict[TopicPartition, Position]:
    """The ends, where a partition that is gone or empty by now stays where the query left it."""
    positions = dict(former) | dict(ends)
    for partition, position in former.items():
        end = ends.get(partition, position)
        if end.is_earliest:
            positions[partition] = position
        elif end < position:
            raise DataLossError(
                f"{partition}: the query has read up to {position}, but the topic's last message is before "
                f"{end}; was the topic deleted and made again? Start with a new checkpoint to read it from a "
                f"position that you choose"
            )
    return positions
