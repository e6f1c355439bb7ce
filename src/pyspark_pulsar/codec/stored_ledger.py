"""Copies of ledgers in the formats of Pulsar's offloaders: wrappers of the kernel's `ObjectIndex` and `MapFile`.

Error messages begin with the argument `where`, which contains the ledger, its topic and the location of its copy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from pyspark_pulsar._kernel import (
    EntryBatch,
    KernelError,
    MapFile as MapFile,  # noqa: PLC0414 -- the readers import it from here
    ObjectIndex as ObjectIndex,  # noqa: PLC0414
    StoredEntries,
)
from pyspark_pulsar.errors import DamagedCopy

HEAD_BYTES = 64 << 10
"""Number of bytes at the start of the file `data` that `map_file` needs. The header of the file is far shorter."""


def object_index(ledger: int, data: bytes, where: str) -> ObjectIndex:
    """Parse an index object. `data` contains all bytes of the object.

    Raises:
        DamagedCopy: The bytes cannot be parsed.

    """
    with _damage(where):
        return ObjectIndex(ledger, data)


def map_file(ledger: int, head: bytes, index: bytes, where: str) -> MapFile:
    """Parse a MapFile.

    `head` contains the first `HEAD_BYTES` bytes of the file `data`. `index` contains the whole file `index`.

    Raises:
        DamagedCopy: The bytes cannot be parsed.

    """
    with _damage(where):
        return MapFile(ledger, head, index)


def range_of(copy: ObjectIndex | MapFile, first: int, last: int, where: str) -> StoredEntries:
    """Return a reader of the entries `first` to `last`, both inclusive. Pass the reader to `entries_in`.

    Raises:
        DamagedCopy: The copy does not contain these entries.

    """
    with _damage(where):
        return copy.entries(first, last)


def entries_in(stored: StoredEntries, pieces: Iterable[bytes], where: str) -> Iterator[EntryBatch]:
    """Yield the entries of the range of `stored` in order, each once.

    Args:
        stored: A reader from `range_of`.
        pieces: The bytes of the copy from the offset `stored.start` onward, in pieces of any size.
        where: The beginning of error messages.

    Raises:
        DamagedCopy: The copy is damaged or lacks an entry. All entries before the damaged or missing entry were
            yielded.

    """
    for piece in pieces:
        data = piece
        while True:
            with _damage(where):
                entries = stored.feed(data)
            if len(entries):
                yield entries
            if not stored.has_more:
                break
            data = b""
        if stored.is_done:
            return
    with _damage(where):
        stored.finish()


@contextlib.contextmanager
def _damage(where: str) -> Iterator[None]:
    try:
        yield
    except KernelError as fault:
        entry = f", entry {fault.entry}" if fault.entry >= 0 else ""
        reason = fault.message.partition(": ")[2] if fault.ledger >= 0 else fault.message
        raise DamagedCopy(
            f"{where}{entry}: the offloaded copy cannot be used: {reason}; read the ledger from another location "
            f"(readFrom=auto, bookie or broker), and offload it again"
        ) from None
