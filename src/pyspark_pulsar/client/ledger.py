"""Ledgers of a topic partition as plain data: their entries, times and locations.

Source: the admin REST resources `internal-info` and `internalStats`; see `client.admin.topics`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The bookies of a ledger from `first_entry` until the next ensemble begins.

    Replica i of entry e is stored on `bookies[(e + i) % len(bookies)]`, for each i below the write quorum.
    """

    first_entry: int
    bookies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerMetadata:
    """The distribution of a ledger's entries over bookies, from BookKeeper's ledger metadata."""

    write_quorum: int
    digest: str
    """CRC32C, CRC32, DUMMY, or HMAC, which needs the ledger's password."""
    ensembles: tuple[Ensemble, ...]
    """Ensembles in the order of their first entries; the first begins with entry 0."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger of a topic partition. Times are Unix milliseconds of the broker's clock."""

    id: int
    entries: int
    """Number of entries. A closed ledger has ids 0 to `entries` - 1, an open one up to the last confirmed id."""
    size: int
    """Bytes of the entries, without the bytes that bookies add."""
    opened_ms: int | None
    """The time at which the previous ledger was closed; None if that ledger is gone or the time is unknown."""
    closed_ms: int | None
    """The time at which the ledger was closed; None while the ledger is open, 0 if the time is unknown."""
    offload_id: str | None = None
    """The UUID of the ledger's complete copy in tiered storage."""
    metadata: LedgerMetadata | None = None
    """The locations of entries, or None if the admin REST API does not return them; readers then query bookies."""

    @property
    def is_open(self) -> bool:
        return self.closed_ms is None
