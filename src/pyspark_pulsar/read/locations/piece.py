"""The entries of one piece of a split, from where it was planned to be read. Executor only."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.connection import EntryBatch
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.locations.broker import BrokerEntries
from pyspark_pulsar.read.locations.tiered import tiered_entries
from pyspark_pulsar.read.split import FromTieredStorage, Piece
from pyspark_pulsar.topic import TopicPartition


def piece_entries(
    client: BrokerClient, options: ReadOptions, partition: TopicPartition, piece: Piece
) -> Iterator[EntryBatch]:
    """Whole entries in order; the first may begin before the piece and the last end behind it."""
    if isinstance(piece.location, FromTieredStorage):
        return tiered_entries(partition, piece, piece.location)
    return iter(
        BrokerEntries(
            client,
            partition,
            piece.start,
            piece.end,
            permits=options.receiver_queue_size,
            poll_seconds=options.poll_timeout_ms / 1000,
            read_compacted=options.read_compacted,
        )
    )
