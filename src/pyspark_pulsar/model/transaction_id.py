"""What a transaction is called: by coordinators, in the metadata of messages, and in journals."""

from __future__ import annotations

from typing import TypeAlias

TransactionId: TypeAlias = tuple[int, int]
"""Most and least significant bits, unsigned; the first 16 bits tell its coordinator."""
