"""The id of a transaction, as coordinators, the metadata of messages and journals contain it."""

from __future__ import annotations

from typing import TypeAlias

TransactionId: TypeAlias = tuple[int, int]
"""The most and the least significant 64 bits of the id, unsigned. The most significant 64 bits are the number of the
coordinator."""
