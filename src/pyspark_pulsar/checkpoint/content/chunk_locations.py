"""Fetching chunks from the broker, or directly from bookies and tiered storage."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from pyspark_pulsar.checkpoint.clients import CALL_SECONDS, Cluster
from pyspark_pulsar.checkpoint.content.ledger_locations import LedgerLocations
from pyspark_pulsar.checkpoint.index.records import Chunk
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, position_text
from pyspark_pulsar.checkpoint.messages.message_reader import MessageReader
from pyspark_pulsar.codec.digests import crc32c
from pyspark_pulsar.errors import (
    CheckpointLost,
    DataLossError,
    DeadlineExceeded,
    LedgerUnavailable,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.location import EntryLocation, PartitionAccess
from pyspark_pulsar.read.sources.broker import BrokerEntries

_log: Final = logging.getLogger(__name__)

_LARGEST_GAP: Final = 16
"""The largest distance between two chunks, in entries, at which one reader fetches both chunks.

The reader skips the messages between the two chunks. If the distance is larger, another reader fetches the second
chunk.
"""

_PERMITS: Final = 32
_POLL_SECONDS: Final = CALL_SECONDS - 10.0


class ChunkLocations:
    """A reader of chunks in one checkpoint's content log. Threads may share a reader."""

    def __init__(self, cluster: Cluster, partition: TopicPartition) -> None:
        self._cluster = cluster
        self._partition = partition
        self._ledgers = LedgerLocations(cluster, partition)

    def fetch(self, chunks: Sequence[Chunk], where: str) -> Iterator[tuple[Chunk, bytes]]:
        """Check the checksum of each chunk, and yield the chunk and its bytes, in the order of `chunks`.

        Args:
            chunks: The chunks to read.
            where: The name of the file, for error texts.

        Raises:
            CheckpointLost: A chunk was removed or is damaged.
            DeadlineExceeded: The broker did not answer in time.
            LedgerUnavailable: The option `readFrom` names a location, and reading from this location failed.

        """
        for run in _runs(chunks):
            read = 0
            location = self._location(run, where)
            if location is not None:
                try:
                    for chunk, data in self._checked(run, self._from_location(location, run), where):
                        read += 1
                        yield chunk, data
                except PulsarError as fault:
                    self._ledgers.forget(run[0].ledger)
                    if not self._ledgers.falls_back:
                        raise LedgerUnavailable(f"{where}: {fault}") from fault
                    _log.warning(
                        "Reading from the broker, because reading from %s failed (%s): %s",
                        location.title,
                        fault,
                        where,
                    )
            if read < len(run):
                yield from self._all_from_broker(run[read:], where)

    def _location(self, run: Sequence[Chunk], where: str) -> EntryLocation | None:
        try:
            return self._ledgers.find_location(run[0].ledger)
        except PulsarError as fault:
            raise LedgerUnavailable(f"{where}: {fault}") from fault

    def _all_from_broker(self, run: Sequence[Chunk], where: str) -> Iterator[tuple[Chunk, bytes]]:
        read = 0
        for chunk, data in self._checked(
            run, self._from_broker(run[0].position, run[-1].position, where), where
        ):
            read += 1
            yield chunk, data
        if read < len(run):
            raise chunk_gone(run[read], where, self._partition, "later messages of the topic exist")

    def _checked(
        self, run: Sequence[Chunk], messages: Iterator[tuple[MessagePosition, bytes]], where: str
    ) -> Iterator[tuple[Chunk, bytes]]:
        by_position = {chunk.position: chunk for chunk in run}
        for position, data in messages:
            chunk = by_position.get(position)
            if chunk is not None:
                check(chunk, data, where, self._partition)
                yield chunk, data

    def _from_location(
        self, location: EntryLocation, run: Sequence[Chunk]
    ) -> Iterator[tuple[MessagePosition, bytes]]:
        first, last = run[0].position, run[-1].position
        start, end = Position(*first), Position(last[0], last[1] + 1)
        options = self._cluster.options_of(self._partition)
        reader = MessageReader(self._partition.name, start, end)
        with self._cluster.borrowed() as client:
            access = PartitionAccess(options, self._partition, client)
            with closing(location.open(access, start, end)) as batches:
                for batch in batches:
                    yield from reader.read(batch)

    def _from_broker(
        self, first: MessagePosition, last: MessagePosition, where: str
    ) -> Iterator[tuple[MessagePosition, bytes]]:
        with self._cluster.borrowed() as client:
            yield from messages(client, self._partition, first, last, where)


def messages(
    client: object, partition: TopicPartition, first: MessagePosition, last: MessagePosition, where: str
) -> Iterator[tuple[MessagePosition, bytes]]:
    """Read the messages from `first` to `last`, both inclusive, from the broker; skip removed messages.

    Raises `CheckpointLost`, `DeadlineExceeded`.
    """
    start, end = Position(*first), Position(last[0], last[1] + 1)
    entries = BrokerEntries(
        client,  # type: ignore[arg-type]
        partition,
        start,
        end,
        permits=_PERMITS,
        poll_seconds=_POLL_SECONDS,
    )
    reader = MessageReader(partition.name, start, end)
    try:
        with closing(iter(entries)) as batches:
            for batch in batches:
                yield from reader.read(batch)
    except (DataLossError, TopicNotFoundError) as loss:
        raise CheckpointLost(f"{where}: {loss}") from loss
    except DeadlineExceeded as late:
        raise DeadlineExceeded(f"{where}: {late}") from late


def check(chunk: Chunk, data: bytes, where: str, partition: TopicPartition) -> None:
    """Check that the bytes have the length and the checksum in `chunk`. Raises `CheckpointLost`."""
    if len(data) == chunk.length and crc32c(data) == chunk.checksum:
        return
    raise CheckpointLost(
        f"{where}: expected {chunk.length} bytes with CRC-32C {chunk.checksum:08x} in message "
        f"{position_text(chunk.position)} of {partition}, got {len(data)} with {crc32c(data):08x}: the chunk is "
        f"damaged; restore the checkpoint from a copy (pyspark-pulsar checkpoint copy)"
    )


def chunk_gone(chunk: Chunk, where: str, partition: TopicPartition, why: object) -> PulsarError:
    """Return the error for a removed chunk. `why` explains how the removal was detected."""
    return CheckpointLost(
        f"{where}: expected a chunk of {chunk.length} bytes in message {position_text(chunk.position)} of "
        f"{partition}, got none ({why}). It was removed by a truncation, message TTL, backlog eviction or a "
        f"subscription that was moved or deleted; restore the checkpoint from a copy (pyspark-pulsar checkpoint copy)"
    )


def _runs(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Split chunks into runs. One reader can fetch a whole run.

    The chunks of a run are in one ledger, in ascending order, with small gaps.
    """
    run: list[Chunk] = []
    for chunk in chunks:
        if run and not (chunk.ledger == run[-1].ledger and 0 < chunk.entry - run[-1].entry <= _LARGEST_GAP):
            yield run
            run = []
        run.append(chunk)
    if run:
        yield run
