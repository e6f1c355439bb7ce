"""The simulated transaction coordinators. A coordinator keeps its log through the death of its broker."""

from __future__ import annotations

from dataclasses import dataclass, field

OPEN, COMMITTING, ABORTING = "OPEN", "COMMITTING", "ABORTING"


@dataclass(eq=False)
class TransactionMeta:
    least: int
    timeout_at: float
    status: str = OPEN
    partitions: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Coordinator:
    """A coordinator, and its transactions that have not ended."""

    number: int
    next_least: int = 0
    transactions: dict[int, TransactionMeta] = field(default_factory=dict)

    @property
    def low_water_mark(self) -> int:
        """Return the highest id below which all transactions have ended."""
        return min(self.transactions, default=self.next_least) - 1

    def begin(self, timeout_at: float) -> TransactionMeta:
        meta = self.transactions[self.next_least] = TransactionMeta(self.next_least, timeout_at)
        self.next_least += 1
        return meta
