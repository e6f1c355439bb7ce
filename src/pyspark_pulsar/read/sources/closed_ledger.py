"""A closed ledger that is read without the broker. The read returns each entry of the range once, in order.

A copy in tiered storage can lack entries without any sign. But the number of entries in a closed ledger is known. So a
gap is a fault here, although gaps are normal for consumers. No broker has filtered the entries. So the entries include
markers and messages of aborted transactions (`EntryBatch.unfiltered`), which the decoder drops.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.location import (
    EntryLocation,
    LedgerPart,
    Missing,
    PartitionAccess,
    RangeProgress,
    entry_range,
    ledger_parts,
)


@dataclass(frozen=True, slots=True)
class ClosedLedger(EntryLocation):
    """A location with one closed ledger. The entries have the same ids in this location as in the topic."""

    ledger: Ledger

    @property
    def ledger_id(self) -> int:
        return self.ledger.id

    @abstractmethod
    def stored_entries(
        self, access: PartitionAccess, first: int, last: int
    ) -> Generator[EntryBatch, None, None]:
        """Yield the entries `first` to `last` (both inclusive) as they are stored. Raise the errors of `open`."""

    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """Yield exactly the entries of the range.

        At a gap, raise `LedgerUnavailable` after the entries before the gap.
        """
        first, last = entry_range(self.ledger, start, end)
        source = self.stored_entries(access, first, last)
        return contiguous(source, access.partition, self.ledger, (first, last), self.name)

    def expected_entries(self, start: Position, end: Position) -> int:
        if start >= end:
            return 0
        first, last = entry_range(self.ledger, start, end)
        return max(0, last - first + 1)

    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Return all entries that did not arrive.

        No broker has filtered the entries, so each missing entry is a fault.
        """
        first, last = entry_range(self.ledger, max(start, progress.reached), end)
        if first > last:
            return None
        number = self.ledger.id
        return Missing(number, f"entries {first} to {last} of ledger {number} ({last - first + 1} entries)")

    def ledger_parts(
        self, ledgers: Sequence[Ledger] | None, start: Position, end: Position
    ) -> tuple[LedgerPart, ...]:
        del ledgers
        return ledger_parts((self.ledger,), start, end)

    def gives(self, ledger: Ledger, start: Position, end: Position) -> bool:
        del start, end
        return ledger.id == self.ledger.id


def contiguous(
    source: Generator[EntryBatch, None, None],
    partition: TopicPartition,
    ledger: Ledger,
    entries: tuple[int, int],
    place: str,
) -> Generator[EntryBatch, None, None]:
    """Yield the batches of the source, after a check that no entry is missing, repeated or out of order.

    Args:
        source: The batches.
        partition: The topic partition, for errors.
        ledger: The ledger.
        entries: The ids of the first and the last expected entry (both inclusive).
        place: The name of the location, for errors.

    Raises:
        LedgerUnavailable: An entry is missing, or is not the expected entry.

    """
    expected, last = entries

    def gap(got: str) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"{partition}, ledger {ledger.id} of {ledger.entries} entries, read from {place}: expected entry "
            f"{expected}, got {got}; read the ledger from another location (option readFrom)"
        )

    with closing(source):
        for batch in source:
            begin, end = batch.first, batch.last
            if begin is None or end is None:
                continue
            is_whole = end[1] - begin[1] + 1 == len(batch) and end[1] <= last
            if begin != (ledger.id, expected) or not is_whole:
                raise gap(f"{len(batch)} entries from {begin} to {end}")
            expected = end[1] + 1
            batch.unfiltered = True
            yield batch
    if expected <= last:
        raise gap(f"nothing after entry {expected - 1}")
