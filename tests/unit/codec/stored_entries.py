"""Entries with given payloads, made by hand, one message each."""

import struct
from collections.abc import Iterable

from pyspark_pulsar._kernel import EntryBatch


def stored(payloads: Iterable[bytes | None], version: bytes = b"\0" * 8) -> EntryBatch:
    """Entries 0, 1, ... of ledger 7, each without a checksum; None is a null value."""
    entries = EntryBatch()
    for number, payload in enumerate(payloads):
        # Fields 1, 2 and 3 are required; 16 is the schema version; 25 means that the value is null.
        metadata = b"\x0a\x01p\x10\x00\x18\x01"
        if version:
            metadata += b"\x82\x01" + bytes([len(version)]) + version
        if payload is None:
            metadata += b"\xc8\x01\x01"
        entries.push(7, number, struct.pack(">I", len(metadata)) + metadata + (payload or b""))
    return entries
