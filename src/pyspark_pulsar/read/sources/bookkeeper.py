"""Entries of a closed ledger, read directly from the bookies that store it.

Bookies check no permissions. So the broker has checked the permission to read the topic when the read was planned.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress, bookie_address
from pyspark_pulsar.client.bookkeeper.connection.connections import BookieConnections
from pyspark_pulsar.client.bookkeeper.connection.security import bookie_security
from pyspark_pulsar.client.bookkeeper.discovery import GuessedWriteSets
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.ledger_reader import LedgerReader
from pyspark_pulsar.client.bookkeeper.write_set import KnownWriteSets
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import LedgerUnavailable, OptionError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import PartitionAccess
from pyspark_pulsar.read.sources.closed_ledger import ClosedLedger


@dataclass(frozen=True, slots=True)
class FromBookies(ClosedLedger):
    """The bookies that store the closed ledger."""

    name: ClassVar[str] = "bookie"
    title: ClassVar[str] = "bookies"

    bookies: tuple[str, ...] = ()
    """The ids of all known bookies. All bookies are searched if the striping of the ledger is unknown."""

    def stored_entries(
        self, access: PartitionAccess, first: int, last: int
    ) -> Generator[EntryBatch, None, None]:
        return bookie_entries(access.options, access.partition, self.ledger, self.bookies, first, last)


def bookie_entries(
    options: ReadOptions,
    partition: TopicPartition,
    ledger: Ledger,
    bookies: tuple[str, ...],
    first: int,
    last: int,
) -> Generator[EntryBatch, None, None]:
    """Yield the entries `first` to `last` (inclusive) of the ledger, in order. Used on the driver and on executors.

    Args:
        options: The options with the addresses, security and timeouts of bookies.
        partition: The topic partition, for errors.
        ledger: The ledger.
        bookies: The bookies to search if the striping of the ledger is unknown.
        first: The first entry.
        last: The last entry.

    Raises:
        LedgerUnavailable: The bookies do not return an entry.
        OptionError: The address of a bookie is unknown.

    """
    striping = ledger.metadata
    if striping is not None:
        bookies = tuple(
            dict.fromkeys(bookie for ensemble in striping.ensembles for bookie in ensemble.bookies)
        )
    addresses = _addresses(options, bookies, guessed=striping is None)
    if not addresses:
        raise LedgerUnavailable(
            f"{partition}, ledger {ledger.id}: expected the bookies that store the ledger, got none; read the "
            f"ledger from another location (option readFrom)"
        )
    entry_range = ledger_entry_range(partition, ledger, first, last)
    timeout_seconds = options.bookie_timeout_ms / 1000
    with BookieConnections(addresses, timeout_seconds, bookie_security(options)) as connections:
        write_sets = (
            GuessedWriteSets(entry_range, tuple(addresses), connections)
            if striping is None
            else KnownWriteSets(striping)
        )
        yield from LedgerReader(entry_range, write_sets, connections)


def ledger_entry_range(partition: TopicPartition, ledger: Ledger, first: int, last: int) -> EntryRange:
    """Return the range of the entries `first` to `last` (inclusive), for requests to bookies."""
    return EntryRange(
        where=str(partition),
        ledger=ledger.id,
        first=first,
        last=last,
        digest=None if ledger.metadata is None else ledger.metadata.digest,
        entry_bytes=ledger.size // max(1, ledger.entries),
    )


def _addresses(options: ReadOptions, bookies: tuple[str, ...], *, guessed: bool) -> dict[str, BookieAddress]:
    """Return the addresses of the bookies.

    `guessed` means that `bookies` are all bookies of the cluster, and that most of them do not store the ledger. Then
    bookies with an unknown address are skipped. An error is raised only if all addresses are unknown.
    """
    mapping = dict(options.bookie_addresses)
    addresses: dict[str, BookieAddress] = {}
    for bookie in bookies:
        try:
            addresses[bookie] = bookie_address(bookie, mapping)
        except OptionError:
            if not guessed or (bookie == bookies[-1] and not addresses):
                raise
    return addresses
