"""CRC-32C (Castagnoli, RFC 3720), which Pulsar and BookKeeper use too, of bytes that this package keeps in messages."""

from __future__ import annotations

from pyspark_pulsar._kernel import crc32c as crc32c  # noqa: PLC0414 -- whoever stands above `codec` gets it here
