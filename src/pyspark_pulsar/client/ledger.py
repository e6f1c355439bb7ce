"""Ledgers of a topic partition as plain data: how long, from when, and where they lie.

Source: the admin REST resources `internal-info` and `internalStats`; see `client.admin.topics`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The bookies of a ledger from `first_entry` on, until the next ensemble begins.

    Replica i of entry e lies on `bookies[(e + i) % len(bookies)]`, i below the write quorum.
    """

    first_entry: int
    bookies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerMetadata:
    """How the entries of a ledger are laid over bookies, as BookKeeper's ledger metadata say."""

    write_quorum: int
    digest: str
    """CRC32C, CRC32, DUMMY, or HMAC, which needs the ledger's password."""
    ensembles: tuple[Ensemble, ...]
    """In the order of their first entries; the first begins with 0."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """One ledger of a topic partition. Times are Unix milliseconds by the broker's clock."""

    id: int
    entries: int
    """Closed: ids 0 to `entries` - 1 all exist. Open: those up to the last confirmed one."""
    size: int
    """Bytes of its entries, without what bookies add."""
    opened_ms: int | None
    """When the ledger before it was closed; None when that one is gone, or nobody says it."""
    closed_ms: int | None
    """None while it is open; 0 where nobody says when it was closed."""
    offload_id: str | None = None
    """The UUID of its complete copy in tiered storage."""
    metadata: LedgerMetadata | None = None
    """None where the admin REST does not tell; a reader then finds out by asking bookies."""

    @property
    def is_open(self) -> bool:
        return self.closed_ms is None
