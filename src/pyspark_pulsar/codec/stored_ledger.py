"""Copies of ledgers as Pulsar's offloaders write them: a thin face of the kernel's `ObjectIndex` and `MapFile`.

`where` begins error messages: which ledger of which topic, and where its copy lies.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from pyspark_pulsar._kernel import (
    EntryBatch,
    KernelError,
    MapFile as MapFile,  # noqa: PLC0414 -- the readers get it here
    ObjectIndex as ObjectIndex,  # noqa: PLC0414
    StoredEntries,
)
from pyspark_pulsar.errors import DamagedCopy

HEAD_BYTES = 64 << 10
"""Of the file `data` of a MapFile; its header is far shorter."""


def object_index(ledger: int, data: bytes, where: str) -> ObjectIndex:
    """From all bytes of an index object. Raises `DamagedCopy`."""
    with _damage(where):
        return ObjectIndex(ledger, data)


def map_file(ledger: int, head: bytes, index: bytes, where: str) -> MapFile:
    """From the first `HEAD_BYTES` of `data` and all of `index`. Raises `DamagedCopy`."""
    with _damage(where):
        return MapFile(ledger, head, index)


def range_of(copy: ObjectIndex | MapFile, first: int, last: int, where: str) -> StoredEntries:
    """The entries `first` to `last`, both inclusive; their bytes begin at `start`. Raises `DamagedCopy`."""
    with _damage(where):
        return copy.entries(first, last)


def entries_in(stored: StoredEntries, pieces: Iterable[bytes], where: str) -> Iterator[EntryBatch]:
    """The wanted entries out of the bytes from `stored.start` on, in order, each once.

    Raises `DamagedCopy` for a copy that is damaged or lacks one of them, after those before it.
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
        said = fault.message.partition(": ")[2] if fault.ledger >= 0 else fault.message
        raise DamagedCopy(
            f"{where}{entry}: the offloaded copy cannot be used: {said}; read the ledger from elsewhere "
            f"(readFrom=auto, bookie or broker), and have it offloaded anew"
        ) from None
