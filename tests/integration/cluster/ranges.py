"""Rows of a range of one topic partition, as a task makes them, with every cell comparable."""

from __future__ import annotations

from typing import Any

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.source_schema import resolve_source_schema
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.tails import Tails
from pyspark_pulsar.read.task import read_split
from pyspark_pulsar.topic import TopicPartition

Row = tuple[Position, dict[str, Any]]
"""The message id, and all cells by column."""

ALL_COLUMNS = (
    "value", "__key", "__topic", "__messageId", "__publishTime", "__eventTime", "__messageProperties",
    "__partition", "__producerName", "__sequenceId", "__orderingKey", "__schemaVersion", "__messageSize",
)  # fmt: skip


def rows_of_range(options: ReadOptions, start: Position, end: Position | None) -> list[Row]:
    """Through the broker, with no planning in between; `end` None: the present end."""
    partition = TopicPartition.parse(options.topic or "")
    return rows_of_split(options, Split(partition, start, end or present_end(options)))


def rows_of_split(options: ReadOptions, split: Split) -> list[Row]:
    batches = read_split(options, resolve_source_schema(options), split)
    return [row for batch in batches for row in map(as_row, batch.to_pylist(maps_as_pydicts="strict"))]


def as_row(cells: dict[str, Any]) -> Row:
    place = cells["__messageId"]
    return Position(place["ledger"], place["entry"], max(place["batchIndex"], 0)), cells


def present_end(options: ReadOptions) -> Position:
    partition = TopicPartition.parse(options.topic or "")
    with BrokerClient(options) as client:
        return Tails(client).ends([partition])[partition]
