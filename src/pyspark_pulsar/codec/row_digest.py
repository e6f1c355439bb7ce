"""What rows are like, whatever their order: their number, and a sum of hashes that the kernel makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MODULUS: Final = 2**64


@dataclass(frozen=True, slots=True)
class RowDigest:
    """Sums of those of parts are those of the whole. `digest` None: the rows were only counted."""

    rows: int = 0
    digest: int | None = 0

    def __add__(self, other: RowDigest) -> RowDigest:
        known = self.digest is not None and other.digest is not None
        digest = ((self.digest or 0) + (other.digest or 0)) % _MODULUS if known else None
        return RowDigest(self.rows + other.rows, digest)

    def agrees_with(self, other: RowDigest) -> bool:
        """As far as both know."""
        unknown = self.digest is None or other.digest is None
        return self.rows == other.rows and (unknown or self.digest == other.digest)

    def __str__(self) -> str:
        return (
            f"{self.rows} rows" if self.digest is None else f"{self.rows} rows with digest {self.digest:016x}"
        )
