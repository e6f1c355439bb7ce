"""The id of a transaction, as coordinators, the metadata of messages and journals contain it."""

from __future__ import annotations

from typing import TypeAlias

TransactionId: TypeAlias = tuple[int, int]
"""The most and least significant 64 bits, unsigned. The first 16 bits are the id of the coordinator."""
