"""What is to be read of a ledger, and how it is said that it cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar._kernel import KernelError, LedgerFrames
from pyspark_pulsar.client.bookkeeper.connection.response_status import DAMAGED, NO_LEDGER, describe
from pyspark_pulsar.errors import LedgerUnavailable

_MAX_FRAME_BYTES: Final = 128 << 20
"""Above any entry that a broker takes, and any answer of many."""


@dataclass(frozen=True, slots=True)
class EntryRange:
    """The entries `first` to `last` (inclusive) of one ledger."""

    where: str
    """The topic partition, for errors."""
    ledger: int
    first: int
    last: int
    digest: str | None = None
    """As `LedgerMetadata.digest`; None: not told."""
    entry_bytes: int = 1
    """About how large an entry is."""

    def frames(self, first: int | None = None, last: int | None = None) -> LedgerFrames:
        """To put these entries, or a part of them, in order. Raises `LedgerUnavailable`."""
        begin = self.first if first is None else first
        end = self.last if last is None else last
        try:
            return LedgerFrames(self.ledger, begin, end, digest=self.digest, max_frame_bytes=_MAX_FRAME_BYTES)
        except KernelError as error:
            raise LedgerUnavailable(
                f"{self.where}, ledger {self.ledger}: bookies cannot be read directly: {error.message}; read it from "
                f"the broker (readFrom=broker)"
            ) from None

    def unavailable(self, entry: int, tried: Mapping[str, str]) -> LedgerUnavailable:
        """No bookie gives the entry; `tried` is what each of them said."""
        answers = "; ".join(f"{bookie} {answer}" for bookie, answer in tried.items())
        if set(tried.values()) == {describe(NO_LEDGER)}:
            answers += "; so it was deleted since the read was planned (retention, or after it was offloaded)"
        if self.digest is None and describe(DAMAGED) in tried.values():
            answers += "; such a digest may also be one that needs the ledger's password (HMAC)"
        return LedgerUnavailable(
            f"{self.where}, ledger {self.ledger}, entry {entry}: expected one of its bookies to give it, got: "
            f"{answers}; run the query again, or read from the broker (readFrom=broker)"
        )
