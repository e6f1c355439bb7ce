"""Rows of a range of topic partitions, with every cell comparable, read in this process as Spark's tasks do."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fixtures.cluster import object_store
from fixtures.cluster.pulsar_cluster import PulsarCluster

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.parse import parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.split_reader import read_split

Row = tuple[Position, dict[str, Any]]
"""A row: the message id, and all cells by column."""

ALL_COLUMNS = (
    "value", "__key", "__topic", "__messageId", "__publishTime", "__eventTime", "__messageProperties",
    "__partition", "__producerName", "__sequenceId", "__orderingKey", "__schemaVersion", "__messageSize",
    "__replicatedFrom", "__index", "__brokerPublishTime",
)  # fmt: skip


def cluster_options(cluster: PulsarCluster, topic: str, **more: str) -> dict[str, str]:
    """Return options as a user sets them: everything that the segment readers need. Dots in keys are written
    as two `_`.
    """
    store = {"access_key_id": object_store.ACCESS_KEY, "secret_access_key": object_store.SECRET_KEY}
    return {
        "service.url": cluster.service_url,
        "admin.url": cluster.admin_url,
        "topic": topic,
        "columns": ",".join(ALL_COLUMNS),
        "tieredStorageOptions": json.dumps(store),
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def position_options(start: Mapping[str, Position], end: Mapping[str, Position]) -> dict[str, str]:
    """Return the ranges by topic partition."""
    return {
        key: json.dumps({name: str(position) for name, position in positions.items()})
        for key, positions in (("startingOffsets", start), ("endingOffsets", end))
        if positions
    }


def planned(options: Mapping[str, str]) -> list[Split]:
    return plan_batch(parse_options(ReadOptions, options)).splits


def rows_by_partition(
    options: Mapping[str, str], splits: Iterable[Split] | None = None
) -> dict[str, list[Row]]:
    """Return the rows by the partition's name, in the order of the splits: the present plan, or the given
    splits.
    """
    return rows_while(options, planned(options) if splits is None else splits, lambda: None)


def rows_while(
    options: Mapping[str, str], splits: Iterable[Split], event: Callable[[], None]
) -> dict[str, list[Row]]:
    """Return the rows as `rows_by_partition` does; `event` is called once, when the first record batch
    exists.
    """
    parsed = parse_options(ReadOptions, options)
    schema = resolve_source_schema(parsed)
    rows: dict[str, list[Row]] = defaultdict(list)
    for split in splits:
        for batch in read_split(parsed, schema, split):
            if not rows:
                event()
            rows[split.partition.name].extend(map(as_row, batch.to_pylist(maps_as_pydicts="strict")))
    return dict(rows)


def rows_of_range(options: ReadOptions, start: Position, end: Position | None) -> list[Row]:
    """Return the rows of one topic partition, in one split through the broker, until `end` or the present
    end.
    """
    partition = TopicPartition.parse(options.topic or "")
    end = end or present_end(options)
    return rows_of_split(options, Split(partition, start, end, (SplitRange(start, end, FromBroker()),)))


def rows_of_split(options: ReadOptions, split: Split) -> list[Row]:
    batches = read_split(options, resolve_source_schema(options), split)
    return [row for batch in batches for row in map(as_row, batch.to_pylist(maps_as_pydicts="strict"))]


def present_end(options: ReadOptions) -> Position:
    """Return the position after the last message that readers of the topic partition see."""
    partition = TopicPartition.parse(options.topic or "")
    with BrokerClient(options) as client:
        return LogEnds(client).ends([partition])[partition]


def as_row(cells: dict[str, Any]) -> Row:
    place = cells["__messageId"]
    return Position(place["ledger"], place["entry"], max(place["batchIndex"], 0)), cells
