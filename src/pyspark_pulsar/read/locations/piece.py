"""The entries of one piece of a split, from where it was planned to be read. Executor only.

A direct read (bookies, tiered storage) can fail for reasons that are none of the query's: a bookie dies, an object is
gone, a ledger is offloaded or deleted meanwhile. With `readFrom=auto` the broker, which knows where everything lies
now, gives the rest of the piece.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.connection import EntryBatch
from pyspark_pulsar.errors import ConnectionFailed, CorruptEntryError, LedgerUnavailable, OptionError
from pyspark_pulsar.message_id import Position, after_entry
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.locations.bookie import bookie_entries, compacted_entries
from pyspark_pulsar.read.locations.broker import BrokerEntries
from pyspark_pulsar.read.locations.contiguous import contiguous
from pyspark_pulsar.read.split import FromBookies, FromBroker, FromCompactedLedger, Piece
from pyspark_pulsar.topic import TopicPartition

_DIRECT_FAULTS = (LedgerUnavailable, ConnectionFailed, CorruptEntryError, OptionError)

_log = logging.getLogger(__name__)


class PieceEntries:
    """Iterate once: whole entries in order, each once, none outside the piece.

    The entries at its ends may hold messages outside it; pieces of one split meet between entries.
    """

    def __init__(
        self, client: BrokerClient, options: ReadOptions, partition: TopicPartition, piece: Piece
    ) -> None:
        self._client = client
        self._options = options
        self._partition = partition
        self._piece = piece
        self._next = piece.start
        self._is_direct = not isinstance(piece.location, FromBroker)
        self._turned: str | None = None
        """Why the rest comes from the broker."""

    def __iter__(self) -> Iterator[EntryBatch]:
        """Raises the errors of `BrokerEntries`; with another `readFrom` than `auto` also those of the direct read."""
        if self._is_direct:
            try:
                yield from self._inside(self._direct())
            except _DIRECT_FAULTS as fault:
                if self._options.read_from != "auto":
                    raise
                self._turned = str(fault)
            if self._turned is None:
                return
            _log.warning(
                "%s: the rest of a piece, from %s up to %s, comes from the broker, since reading it from %s failed: %s",
                self._partition, self._next, self._piece.end, self._piece.location.name, self._turned,
            )  # fmt: skip
            self._is_direct = False
        yield from self._inside(self._from_broker())

    def turn_to_broker(self, at: Position, why: str) -> None:
        """Call while entries of this piece are being decoded: the next ones come from the broker, beginning with the
        entry of `at`, which may have been given before. Without effect where they come from the broker already."""
        if self._is_direct:
            self._next, self._turned = at, why

    def _inside(self, source: Iterator[EntryBatch]) -> Iterator[EntryBatch]:
        """What the source gives of the rest of the piece, until the reader turns away from it."""
        for entries in source:
            entries.trim(self._next.as_tuple(), self._piece.end.as_tuple())
            if entries.last is None:
                continue
            self._next = after_entry(*entries.last)
            yield entries
            if self._is_direct and self._turned is not None:
                return

    def _direct(self) -> Iterator[EntryBatch]:
        location = self._piece.location
        match location:
            case FromBookies():
                return contiguous(
                    bookie_entries(self._options, self._partition, self._piece, location),
                    self._partition, self._piece, location.ledger,
                )  # fmt: skip
            case FromCompactedLedger():
                return compacted_entries(self._options, self._partition, location)
        raise LedgerUnavailable(
            f"{self._partition}: expected a location that this version reads, got {location.name}"
        )

    def _from_broker(self) -> Iterator[EntryBatch]:
        return iter(
            BrokerEntries(
                self._client,
                self._partition,
                self._next,
                self._piece.end,
                permits=self._options.receiver_queue_size,
                poll_seconds=self._options.poll_timeout_ms / 1000,
                read_compacted=self._options.read_compacted,
            )
        )
