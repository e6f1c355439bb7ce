"""A range of entries to read from a ledger, and the error for an unavailable entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar._kernel import KernelError, LedgerFrames
from pyspark_pulsar.client.bookkeeper.connection.response_status import DAMAGED, NO_LEDGER, describe
from pyspark_pulsar.errors import LedgerUnavailable

_MAX_FRAME_BYTES: Final = 128 << 20
"""The maximum size of a bookie's answer in bytes, larger than any entry of a broker and any answer to a BATCH_READ."""


@dataclass(frozen=True, slots=True)
class EntryRange:
    """The entries `first` to `last` (inclusive) of a ledger."""

    where: str
    """The topic partition, for error messages."""
    ledger: int
    first: int
    last: int
    digest: str | None = None
    """The digest type, with the values of `LedgerMetadata.digest`. None if the type is unknown."""
    entry_bytes: int = 1
    """An estimate of the mean entry size, in bytes."""

    def frames(self, first: int | None = None, last: int | None = None) -> LedgerFrames:
        """Return an empty buffer that sorts received entries, for the whole range or a part of the range.

        Args:
            first: The first entry of the part. The default is `self.first`.
            last: The last entry of the part (inclusive). The default is `self.last`.

        Raises:
            LedgerUnavailable: This package cannot verify the ledger's digest type.

        """
        begin = self.first if first is None else first
        end = self.last if last is None else last
        try:
            return LedgerFrames(self.ledger, begin, end, digest=self.digest, max_frame_bytes=_MAX_FRAME_BYTES)
        except KernelError as error:
            raise LedgerUnavailable(
                f"{self.where}, ledger {self.ledger}: bookies cannot be read directly: {error.message}; read from the "
                f"broker (readFrom=broker)"
            ) from None

    def unavailable(self, entry: int, tried: Mapping[str, str]) -> LedgerUnavailable:
        """Return the error for an entry that no bookie returns. `tried` maps the ids of bookies to their answers."""
        answers = "; ".join(f"{bookie} {answer}" for bookie, answer in tried.items())
        if set(tried.values()) == {describe(NO_LEDGER)}:
            answers += (
                " (the ledger was deleted after the read was planned, by retention or after offloading)"
            )
        if self.digest is None and describe(DAMAGED) in tried.values():
            answers += " (perhaps because the ledger's digest is HMAC, which needs the ledger's password)"
        return LedgerUnavailable(
            f"{self.where}, ledger {self.ledger}, entry {entry}: expected a bookie to return the entry, got: "
            f"{answers}. Run the query again, or read from the broker (readFrom=broker)"
        )
