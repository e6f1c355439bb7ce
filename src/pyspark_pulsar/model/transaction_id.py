"""The form of a transaction's id in coordinators, in message metadata and in journals."""

from __future__ import annotations

from typing import TypeAlias

TransactionId: TypeAlias = tuple[int, int]
"""The most and the least significant 64 bits of the id, unsigned. The most significant 64 bits are the number of the
coordinator."""
