"""Ledgers of a topic partition as plain data: their entries, times and locations.

Source: the admin REST resources `internal-info` and `internalStats`; see `client.admin.topics`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The bookies that store a ledger's entries from `first_entry` up to the next ensemble's `first_entry` (exclusive).

    Replica `i` of entry `e` is stored on `bookies[(e + i) % len(bookies)]`, for each `i` in `range(write_quorum)`.
    """

    first_entry: int
    bookies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerMetadata:
    """The distribution of a ledger's entries over bookies, from BookKeeper's ledger metadata."""

    write_quorum: int
    digest: str
    """The digest type: `CRC32C`, `CRC32`, `DUMMY` or `HMAC`. Only `HMAC` needs the ledger's password."""
    ensembles: tuple[Ensemble, ...]
    """The ensembles, sorted by `first_entry`. The `first_entry` of the first ensemble is 0."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger of a topic partition. Times are in Unix milliseconds, by the broker's clock."""

    id: int
    entries: int
    """The number of entries, with the ids 0 to `entries - 1`. In an open ledger, only confirmed entries count."""
    size: int
    """The size of all entries in bytes, without the bytes that bookies add."""
    opened_ms: int | None
    """The time at which the previous ledger was closed. None if the previous ledger was deleted, or if its time is
    unknown."""
    closed_ms: int | None
    """The time at which the ledger was closed. None if the ledger is open, 0 if the time is unknown."""
    offload_id: str | None = None
    """The UUID of the ledger's complete copy in tiered storage. None if tiered storage has no complete copy."""
    metadata: LedgerMetadata | None = None
    """The locations of the entries. None if the admin REST API returns no locations. Readers then find the locations by
    requests to bookies."""

    @property
    def is_open(self) -> bool:
        return self.closed_ms is None
