"""The compacted view of a topic, read directly from the bookies that store it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark_pulsar.client.bookkeeper.compacted_ledger import unwrap_compacted
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

    `ledger` is not a ledger of the topic. Each of its entries wraps a message together with the message's id in the
    topic. Compaction reads through the broker, so the view has no messages of aborted transactions. A later compaction
    may replace the view. Then nothing is lost, because that compaction may have removed the entries that did not
    arrive.
    """

    name: ClassVar[str] = "compacted"
    title: ClassVar[str] = "bookies"
    returns_whole_ledger: ClassVar[bool] = True

    ledger: Ledger
    bookies: tuple[str, ...] = ()
    """The ids of all known bookies. All bookies are searched, because the bookies that store the view are unknown."""

    @property
    def ledger_id(self) -> int:
        return self.ledger.id

    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """Yield all entries of the view. Only the content of an entry shows whether the entry is in the range."""
        del start, end
        last = self.ledger.entries - 1
        source = bookie_entries(access.options, access.partition, self.ledger, self.bookies, 0, last)
        return unwrap_compacted(ledger_entry_range(access.partition, self.ledger, 0, last), source)

    def expected_entries(self, start: Position, end: Position) -> int:
        del start, end
        return self.ledger.entries

    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Return None. Nothing is lost, because a later compaction may have replaced this view."""
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
