"""Unwrapping of compacted ledgers. Each entry of a compacted ledger wraps a topic's entry and the original entry id."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from pyspark_pulsar._kernel import EntryBatch, KernelError
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.errors import LedgerUnavailable


def unwrap_compacted(
    entry_range: EntryRange, source: Iterable[EntryBatch]
) -> Generator[EntryBatch, None, None]:
    """Unwrap the entries of a compacted ledger, and yield the topic's entries.

    Args:
        entry_range: The range of the compacted ledger. Only error messages use the range.
        source: The entries of the compacted ledger, in ascending order.

    Raises:
        LedgerUnavailable: An entry of the compacted ledger wraps no entry, or the wrapped entries are out of order.

    """
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
