"""The compacted view of a topic, straight from the bookies that store it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark_pulsar.client.bookkeeper.compacted_ledger import unwrapped
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.read.location import (
    EntryLocation,
    LedgerPart,
    Missing,
    PartitionAccess,
    RangeProgress,
    touches,
)
from pyspark_pulsar.read.sources.bookkeeper import bookie_entries, ledger_entry_range


@dataclass(frozen=True, slots=True)
class FromCompactedLedger(EntryLocation):
    """The compacted view of the topic up to its compaction horizon, on bookies.

    `ledger.id` is not one of the topic's own: its entries wrap messages with the ids that they had there. Compaction
    reads through the broker, so what aborted transactions wrote is left out of it. When a later compaction has put
    another view in its place, nothing is lost: what did not come of this one may be gone.
    """

    name: ClassVar[str] = "compacted"
    title: ClassVar[str] = "bookies"
    gives_whole_ledger: ClassVar[bool] = True

    ledger: Ledger
    bookies: tuple[str, ...] = ()
    """The ids of all bookies that are known: nobody tells which of them hold the view."""

    @property
    def ledger_id(self) -> int:
        return self.ledger.id

    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """All entries of the view: which of them lie in the range shows when they are there."""
        del start, end
        last = self.ledger.entries - 1
        source = bookie_entries(access.options, access.partition, self.ledger, self.bookies, 0, last)
        return unwrapped(ledger_entry_range(access.partition, self.ledger, 0, last), source)

    def expected_entries(self, start: Position, end: Position) -> int:
        del start, end
        return self.ledger.entries

    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Nothing: a later compaction may have put another view in the place of this one."""
        del start, end, progress
        return None

    def ledger_parts(
        self, ledgers: Sequence[Ledger] | None, start: Position, end: Position
    ) -> tuple[LedgerPart, ...]:
        del ledgers, start, end
        ledger = self.ledger
        return (LedgerPart(ledger.id, 0, ledger.entries - 1, ledger.size),) if ledger.entries else ()

    def gives(self, ledger: Ledger, start: Position, end: Position) -> bool:
        return touches(ledger, start, end)
