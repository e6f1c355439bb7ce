"""Entries of a closed ledger, read from its copy in tiered storage in ranges of a few MiB.

If a copy is absent, damaged or incomplete, the read raises `LedgerUnavailable`, and never ends silently. The error
contains the topic, the ledger, and the bucket and key or the folder. Then the bookies are tried. Bookies may store the
ledger for hours after its offload, but no list shows whether they still store the ledger.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.ledger_metadata import parse_ledger_metadata
from pyspark_pulsar.client.bookkeeper.connection.directory import find_addresses
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.object_store import StoredBytes, open_stored_bytes, read_in_steps
from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.codec.stored_ledger import (
    HEAD_BYTES,
    MapFile,
    ObjectIndex,
    entries_in,
    map_file,
    object_index,
    range_of,
)
from pyspark_pulsar.errors import LedgerUnavailable, PulsarError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import EntryLocation, PartitionAccess
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.closed_ledger import ClosedLedger

_log: Final = logging.getLogger(__name__)

_REPLICA_TIMEOUT_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class FromTieredStorage(ClosedLedger):
    """The offloaded copy of the closed ledger (`ledger.offload_id` is set)."""

    name: ClassVar[str] = "tiered"
    title: ClassVar[str] = "tiered storage"

    store: TieredStore

    def stored_entries(
        self, access: PartitionAccess, first: int, last: int
    ) -> Generator[EntryBatch, None, None]:
        """Yield the entries of the copy. Raise the errors of `open_copy` and `TieredCopy.entries`."""
        if first <= last:
            yield from open_copy(self.store, access.partition, self.ledger).entries(first, last)

    def replica(self, access: PartitionAccess) -> EntryLocation | None:
        """Return the bookies, or None if no list of bookies is available.

        Bookies are tried before the broker, because a broker that prefers tiered storage would read the same failed
        copy.
        """
        bookies = _bookies(access.options, access.partition)
        return FromBookies(self.ledger, bookies) if bookies else None

    def copy_url(self, partition: TopicPartition) -> str:
        return f"{self.store.url}/{self.store.name_of(partition, self.ledger)}"


@dataclass(frozen=True, slots=True)
class TieredCopy:
    """The copy of a ledger, after its index was read."""

    where: str
    source: StoredBytes
    data_name: str
    index: ObjectIndex | MapFile
    size: int
    """The size of the data object or file in bytes. If the index contains the size, the value is from the index."""

    def check(self) -> None:
        """Check that no entry is missing, by the index and the size of the data. Used on the driver.

        An entry that is missing inside the data is found only when the entries are read.

        Raises:
            LedgerUnavailable: Entries are missing.

        """
        if not isinstance(self.index, ObjectIndex):
            return
        if self.index.first_missing is not None:
            raise LedgerUnavailable(
                f"{self.where}, entry {self.index.first_missing}: expected the entry in the copy in tiered "
                f"storage, got a copy that ends before the entry. The entry is longer than a block; read the ledger "
                f"from elsewhere (readFrom=auto, bookie or broker), and offload the ledger again with larger blocks"
            )
        size = self.source.size(self.data_name, self.where)
        if size < self.size:
            raise LedgerUnavailable(
                f"{self.where}: expected {self.size} bytes in tiered storage as {self.data_name}, got {size}; read the "
                f"ledger from elsewhere (readFrom=auto, bookie or broker)"
            )

    def entries(self, first: int, last: int) -> Generator[EntryBatch, None, None]:
        """Yield exactly the entries `first` to `last` (both inclusive), in order.

        Raises:
            LedgerUnavailable: An entry is missing or damaged. The entries before this entry are yielded first.

        """
        stored = range_of(self.index, first, last, self.where)
        end = self.size if stored.end is None else stored.end
        chunks = read_in_steps(
            lambda start, stop: self.source.read(self.data_name, start, stop, self.where), stored.start, end
        )
        with closing(chunks):
            yield from entries_in(stored, chunks, self.where)


def open_copy(store: TieredStore, partition: TopicPartition, ledger: Ledger) -> TieredCopy:
    """Read the index of the ledger's copy.

    Raises:
        LedgerUnavailable, PrerequisiteMissing, OptionError: The copy cannot be opened.

    """
    source, name = open_stored_bytes(store), store.name_of(partition, ledger)
    where = f"{partition}, ledger {ledger.id}"
    place = f"{where} in {store.url}/{name}"
    if store.is_folder:
        data_name, index_name = f"{name}/data", f"{name}/index"
        size = source.size(data_name, where)
        index = source.whole(index_name, where)
        head = source.read(data_name, 0, min(size, HEAD_BYTES), where)
        return TieredCopy(where, source, data_name, map_file(ledger.id, head, index, place), size)
    whole_index = object_index(ledger.id, source.whole(f"{name}-index", where), place)
    if whole_index.last_entry != ledger.entries - 1:
        raise LedgerUnavailable(
            f"{place}: expected entries 0 to {ledger.entries - 1} as in the broker's list, got a copy of entries 0 to "
            f"{whole_index.last_entry}; read the ledger from elsewhere (readFrom=auto, bookie or broker)"
        )
    return TieredCopy(where, source, name, whole_index, whole_index.data_length)


def _bookies(options: ReadOptions, partition: TopicPartition) -> tuple[str, ...]:
    """Return the ids of all bookies.

    If this role may not list all bookies, return the bookies with the topic's ledgers.
    """
    if options.admin_url is None:
        return ()
    timeout_ms = min(options.operation_timeout_ms, _REPLICA_TIMEOUT_MS)
    with AdminClient(options, patience_ms=timeout_ms) as admin:
        for list_bookies in (admin.bookies.ids, partial(_bookies_of_topic, admin, partition)):
            try:
                bookies = list_bookies()
            except PulsarError as fault:
                _log.info("listing the bookies failed: %s: topic partition %s", fault, partition)
                continue
            if bookies:
                known = find_addresses(options, admin, bookies).addresses
                return tuple(known.get(bookie, bookie) for bookie in bookies)
    return ()


def _bookies_of_topic(admin: AdminClient, partition: TopicPartition) -> tuple[str, ...]:
    """Return the bookies with other ledgers of the topic partition.

    Any role that can consume the topic can request this list.
    """
    stats = admin.topics.internal_stats(partition, metadata=True)
    texts = (ledger.get("metadata") for ledger in stats.get("ledgers", ()) if isinstance(ledger, dict))
    stripings = (parse_ledger_metadata(text) for text in texts if isinstance(text, str))
    return tuple(
        sorted(
            {
                bookie
                for striping in stripings
                if striping
                for ensemble in striping.ensembles
                for bookie in ensemble.bookies
            }
        )
    )
