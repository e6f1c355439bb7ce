"""Checksums of bytes, and digests of rows that do not depend on the order of the rows. The kernel computes both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar._kernel import crc32c as _crc32c

_MODULUS: Final = 2**64

crc32c: Final = _crc32c
"""The checksum function CRC-32C (Castagnoli, RFC 3720), for bytes that this package stores in messages. Pulsar and
BookKeeper use the same checksum."""


@dataclass(frozen=True, slots=True)
class RowDigest:
    """The number of rows, and the sum of their hashes. The sum is None if no hashes were computed.

    For rows in several parts, the sum of the digests of all parts is the digest of all rows.
    """

    rows: int = 0
    digest: int | None = 0

    def __add__(self, other: RowDigest) -> RowDigest:
        known = self.digest is not None and other.digest is not None
        digest = ((self.digest or 0) + (other.digest or 0)) % _MODULUS if known else None
        return RowDigest(self.rows + other.rows, digest)

    def agrees_with(self, other: RowDigest) -> bool:
        """Return whether both digests can belong to the same rows.

        The numbers of rows must be equal. If neither sum of hashes is None, the sums must be equal too.
        """
        unknown = self.digest is None or other.digest is None
        return self.rows == other.rows and (unknown or self.digest == other.digest)

    def __str__(self) -> str:
        return (
            f"{self.rows} rows" if self.digest is None else f"{self.rows} rows with digest {self.digest:016x}"
        )
