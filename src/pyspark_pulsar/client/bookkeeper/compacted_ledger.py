"""The entries of a compacted ledger: each wraps an entry of the topic, with the id that it had there."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from pyspark_pulsar._kernel import EntryBatch, KernelError
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.errors import LedgerUnavailable


def unwrapped(entry_range: EntryRange, source: Iterable[EntryBatch]) -> Generator[EntryBatch, None, None]:
    """What the entries of `source` hold. Raises `LedgerUnavailable` for one that holds none, or out of order."""
    last = None
    for entries in source:
        try:
            entries.unwrap_compacted(last)
        except KernelError as error:
            raise LedgerUnavailable(
                f"{entry_range.where}, compacted ledger {entry_range.ledger}: {error.message}; compact the topic "
                f"again, or read from the broker (readFrom=broker)"
            ) from None
        last = entries.last
        yield entries
