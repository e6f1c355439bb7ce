"""Entries of a piece straight from the bookies that store its ledger, past the broker. Executor only.

The right to read the topic was proven at the broker when the read was planned; bookies ask nobody.
"""

from __future__ import annotations

from collections.abc import Generator

from pyspark_pulsar.client.bookkeeper.compacted import unwrapped
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress, bookie_address
from pyspark_pulsar.client.bookkeeper.connection.connections import BookieConnections
from pyspark_pulsar.client.bookkeeper.connection.security import bookie_security
from pyspark_pulsar.client.bookkeeper.discovery import GuessedWriteSets
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.reader import LedgerReader
from pyspark_pulsar.client.bookkeeper.write_set import KnownWriteSets
from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import LedgerUnavailable, OptionError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.contiguous import entry_range
from pyspark_pulsar.read.split import FromBookies, FromCompactedLedger, SplitRange
from pyspark_pulsar.topic import TopicPartition


def bookie_entries(
    options: ReadOptions, partition: TopicPartition, split_range: SplitRange, location: FromBookies
) -> Generator[EntryBatch, None, None]:
    """Exactly the entries of the piece, in order. Raises `LedgerUnavailable`, and `OptionError` for a bookie whose
    address nobody knows."""
    first, last = entry_range(split_range, location.ledger)
    yield from _entries(options, _entry_range(partition, location.ledger, first, last), location)


def compacted_entries(
    options: ReadOptions, partition: TopicPartition, location: FromCompactedLedger
) -> Generator[EntryBatch, None, None]:
    """The entries of the compacted view, with the ids that they had in the topic; also those outside the piece.

    Raises as `bookie_entries`."""
    entry_range = _entry_range(partition, location.ledger, 0, location.ledger.entries - 1)
    yield from unwrapped(entry_range, _entries(options, entry_range, location))


def _entry_range(partition: TopicPartition, ledger: Ledger, first: int, last: int) -> EntryRange:
    return EntryRange(
        where=str(partition),
        ledger=ledger.id,
        first=first,
        last=last,
        digest=None if ledger.metadata is None else ledger.metadata.digest,
        entry_bytes=ledger.size // max(1, ledger.entries),
    )


def _entries(
    options: ReadOptions, entry_range: EntryRange, location: FromBookies | FromCompactedLedger
) -> Generator[EntryBatch, None, None]:
    metadata = location.ledger.metadata
    if metadata is None:
        bookies = location.bookies
    else:
        bookies = tuple(dict.fromkeys(each for ensemble in metadata.ensembles for each in ensemble.bookies))
    addresses = _addresses(options, bookies, guessed=metadata is None)
    if not addresses:
        raise LedgerUnavailable(
            f"{entry_range.where}, ledger {entry_range.ledger}: expected bookies to ask for it, got none"
        )
    with BookieConnections(
        addresses, options.bookie_timeout_ms / 1000, bookie_security(options)
    ) as connections:
        write_sets = (
            GuessedWriteSets(entry_range, tuple(addresses), connections)
            if metadata is None
            else KnownWriteSets(metadata)
        )
        yield from LedgerReader(entry_range, write_sets, connections)


def _addresses(options: ReadOptions, bookies: tuple[str, ...], *, guessed: bool) -> dict[str, BookieAddress]:
    """`guessed`: all bookies that there are, most of which have nothing to do with the ledger; those among them whose
    addresses nobody knows are not asked, unless there are no others."""
    mapping = dict(options.bookie_addresses)
    found: dict[str, BookieAddress] = {}
    for bookie in bookies:
        try:
            found[bookie] = bookie_address(bookie, mapping)
        except OptionError:
            if not guessed or (bookie == bookies[-1] and not found):
                raise
    return found
