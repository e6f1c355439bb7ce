"""Entries of a closed ledger from its copy in tiered storage, in ranges of a few MiB.

A copy that is gone, damaged or lacks entries is `LedgerUnavailable`, which names topic, ledger, and bucket and key or
folder; never a silent end.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.object_store import StoredBytes, in_steps, stored_bytes
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
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.read.sources.contiguous import entry_range
from pyspark_pulsar.read.split import FromTieredStorage, SplitRange
from pyspark_pulsar.topic import TopicPartition


@dataclass(frozen=True, slots=True)
class TieredCopy:
    """A ledger's copy whose index has been read."""

    where: str
    source: StoredBytes
    data_name: str
    index: ObjectIndex | MapFile
    size: int
    """Bytes of the data object or file, as its index says where it does."""

    def check(self) -> None:
        """Raises `LedgerUnavailable` where entries are missing, as far as the index and the data's size tell; that no
        entry is missing inside is seen when they are read. Meant for the driver."""
        if not isinstance(self.index, ObjectIndex):
            return
        if self.index.first_missing is not None:
            raise LedgerUnavailable(
                f"{self.where}, entry {self.index.first_missing}: expected it in the copy in tiered storage, but the "
                f"offloader left it and all that follow out: it is longer than a block; read the ledger from elsewhere "
                f"(readFrom=auto, bookie or broker), and offload it anew with a larger block size"
            )
        size = self.source.size(self.data_name, self.where)
        if size < self.size:
            raise LedgerUnavailable(
                f"{self.where}: expected {self.size} bytes in tiered storage as {self.data_name}, got {size}; read the "
                f"ledger from elsewhere (readFrom=auto, bookie or broker)"
            )

    def entries(self, first: int, last: int) -> Generator[EntryBatch, None, None]:
        """Exactly the entries `first` to `last`, both inclusive, in order. Raises `LedgerUnavailable`, after the
        entries before the one that is missing or damaged."""
        wanted = range_of(self.index, first, last, self.where)
        end = self.size if wanted.end is None else wanted.end
        pieces = in_steps(
            lambda start, stop: self.source.read(self.data_name, start, stop, self.where), wanted.start, end
        )
        with closing(pieces):
            yield from entries_in(wanted, pieces, self.where)


def open_copy(store: TieredStore, partition: TopicPartition, ledger: Ledger) -> TieredCopy:
    """Read the index of the ledger's copy. Raises `LedgerUnavailable`, `PrerequisiteMissing`, `OptionError`."""
    source, name = stored_bytes(store), store.name_of(partition, ledger)
    where = f"{partition}, ledger {ledger.id}"
    place = f"{where} in {store.url}/{name}"
    if store.is_folder:
        data_name, index_name = f"{name}/data", f"{name}/index"
        size = source.size(data_name, where)
        index = source.whole(index_name, where)
        head = source.read(data_name, 0, min(size, HEAD_BYTES), where)
        return TieredCopy(where, source, data_name, map_file(ledger.id, head, index, place), size)
    found = object_index(ledger.id, source.whole(f"{name}-index", where), place)
    if found.last_entry != ledger.entries - 1:
        raise LedgerUnavailable(
            f"{place}: expected entries 0 to {ledger.entries - 1} as the broker says, got a copy of entries 0 to "
            f"{found.last_entry}; read the ledger from elsewhere (readFrom=auto, bookie or broker)"
        )
    return TieredCopy(where, source, name, found, found.data_length)


def tiered_entries(
    partition: TopicPartition, split_range: SplitRange, location: FromTieredStorage
) -> Generator[EntryBatch, None, None]:
    """Exactly the entries that the split_range, which lies in `location`, touches, in order. Executor only.

    Raises what `open_copy` and `TieredCopy.entries` raise.
    """
    first, last = entry_range(split_range, location.ledger)
    if first <= last:
        yield from open_copy(location.store, partition, location.ledger).entries(first, last)
