"""What the reader of a ledger knows at one time. The theory is in `reader`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

from pyspark_pulsar._kernel import EntryBatch, LedgerFrames
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.in_flight_read import InFlightRead
from pyspark_pulsar.errors import LedgerUnavailable

# Above it, only what the caller waits for is received.
_HOLD_BYTES: Final = 24 << 20


@dataclass(slots=True)
class ReadState:
    """Make it with `of`."""

    entry_range: EntryRange
    frames: LedgerFrames
    """The entries that have come, and which of them were given."""
    ahead: int
    """The first entry that is ahead: it and those behind it lie in no read but a BATCH_READ."""
    end: int
    """The first entry that no bookie gives; behind the last one of the range while all are given."""
    entry_bytes: int
    """The mean size of an entry: as planned, then as seen. At least 1."""
    unavailable: LedgerUnavailable | None = None
    """Why the entry `end` cannot be read."""
    in_flight: list[InFlightRead] = field(default_factory=list)
    paused: list[InFlightRead] = field(default_factory=list)
    is_misled: bool = False
    """A bookie lacks an entry that the guessed write set says it holds."""

    @classmethod
    def of(cls, entry_range: EntryRange) -> Self:
        """Before anything was asked for. Raises `LedgerUnavailable`."""
        first, stop = entry_range.first, entry_range.last + 1
        return cls(entry_range, entry_range.frames(), first, stop, max(1, entry_range.entry_bytes))

    @property
    def is_complete(self) -> bool:
        """Whether all entries that are to be had were given."""
        return self.frames.next >= self.end

    @property
    def is_full(self) -> bool:
        return self.frames.buffered_bytes > _HOLD_BYTES

    @property
    def has_batch_read(self) -> bool:
        return any(read.batch is not None for read in self.in_flight)

    def take(self) -> EntryBatch | None:
        """The next entries, as far as they are here without a gap."""
        entries = self.frames.take()
        if entries is not None:
            self.entry_bytes = max(1, self.entry_range.entry_bytes, entries.nbytes // len(entries))
        return entries

    def end_before(self, entry: int, why: LedgerUnavailable) -> None:
        """No bookie gives the entry. What was asked for in front of it is still waited for."""
        if entry < self.end:
            self.end, self.unavailable = entry, why

    def missing_in(self, read: InFlightRead) -> int:
        """How many of its entries have not come."""
        entries = read.entries
        return self.frames.missing(entries.start, entries.stop, entries.step, read.size)

    def first_missing(self, read: InFlightRead) -> int | None:
        """Of a read of single entries."""
        return next((entry for entry in read.entries if self.frames.missing(entry, entry + 1, 1)), None)

    def bookies_to_hear(self) -> set[str]:
        """Those in whose answers the reader is interested now."""
        if not self.is_full:
            return {read.bookie for read in self.in_flight}
        return {read.bookie for read in self.in_flight if read.covers(self.frames.next)}

    def pop_batch_read(self, batch: int) -> InFlightRead | None:
        read = next((read for read in self.in_flight if read.batch == batch), None)
        if read is not None:
            self.in_flight.remove(read)
        return read

    def pop_read(self, bookie: str, entry: int) -> InFlightRead | None:
        """That of the entry, which is then in none; the others of it stay in flight."""
        read = next(
            (
                read
                for read in self.in_flight
                if read.bookie == bookie and read.batch is None and read.covers(entry)
            ),
            None,
        )
        if read is not None:
            self.in_flight.remove(read)
            self.in_flight += read.without(entry)
        return read

    def pop_reads_of(self, bookie: str) -> list[InFlightRead]:
        """All that are in flight to this bookie."""
        popped = [read for read in self.in_flight if read.bookie == bookie]
        self.in_flight = [read for read in self.in_flight if read.bookie != bookie]
        return popped

    def pop_due(self, now: float) -> list[InFlightRead]:
        """Those whose pause is over."""
        due = [read for read in self.paused if read.not_before <= now]
        self.paused = [read for read in self.paused if read.not_before > now]
        return due

    def drop_answered(self, bookie: str) -> None:
        """Forget reads of this bookie of which all entries have come."""
        self.in_flight = [
            read
            for read in self.in_flight
            if read.bookie != bookie or read.batch is not None or self.missing_in(read) > 0
        ]
