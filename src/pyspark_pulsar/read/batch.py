"""`spark.read.format("pulsar")`: one bounded range of each topic partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.interpreter import Shipped
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds import (
    EARLIEST_TEXT,
    LATEST_TEXT,
    check_reachable,
    resolve_bound,
)
from pyspark_pulsar.read.discovery import discover_partitions, discover_topics
from pyspark_pulsar.read.plan import plan_splits
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.tails import Tails
from pyspark_pulsar.read.task import read_split
from pyspark_pulsar.schema.read_schema import ReadSchema


class PulsarBatchReader(Shipped, DataSourceReader):
    """Made on the driver; `partitions` runs there, `read` on executors."""

    def __init__(self, options: ReadOptions, schema: ReadSchema) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Fixes the bounds: messages that arrive later do not belong to this read."""
        return [InputPartition(split) for split in self._splits()]

    def _splits(self) -> list[Split]:
        options = self._options
        with BrokerClient(options) as client:
            partitions = discover_partitions(client, discover_topics(client, options))
            with closing(Tails(client, read_compacted=options.read_compacted)) as tails:
                present = tails.ends(partitions)
                reachable = tails.reachable(present)
        starts = resolve_bound(
            "startingOffsets", options.starting_offsets or EARLIEST_TEXT, partitions, present
        )
        ends = resolve_bound("endingOffsets", options.ending_offsets or LATEST_TEXT, partitions, present)
        check_reachable("startingOffsets", starts, reachable)
        check_reachable("endingOffsets", ends, reachable)
        return plan_splits(starts, ends)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark asks for one split with the value None when `partitions` is empty.
        split = partition.value if partition is not None else None
        if split is None:
            return iter(())
        return read_split(self._options, self._schema, split)
