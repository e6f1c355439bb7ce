"""The state of a reader of a ledger. The module `ledger_reader` explains the states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

from pyspark_pulsar._kernel import EntryBatch, LedgerFrames
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.in_flight_read import InFlightRead
from pyspark_pulsar.errors import LedgerUnavailable

# Above this limit, the reader receives only the next entry for its caller.
_HOLD_BYTES: Final = 24 << 20


@dataclass(slots=True)
class ReadState:
    """The state of a read. Create it with `before_requests`."""

    entry_range: EntryRange
    frames: LedgerFrames
    """The received entries. The buffer also knows which of them were returned."""
    ahead: int
    """The first entry that is ahead. Entries from here on are in no read except a BATCH_READ."""
    end: int
    """The first entry that no bookie returns, or the entry after the range if there is none so far."""
    entry_bytes: int
    """The mean size of an entry: first as planned, then as received. At least 1."""
    unavailable: LedgerUnavailable | None = None
    """The error for the entry `end`."""
    in_flight: list[InFlightRead] = field(default_factory=list)
    paused: list[InFlightRead] = field(default_factory=list)
    is_misled: bool = False
    """A bookie lacks an entry that it has according to the guessed write set."""

    @classmethod
    def before_requests(cls, entry_range: EntryRange) -> Self:
        """Return the state before the first request. Raise `LedgerUnavailable` for an unsupported digest."""
        first, stop = entry_range.first, entry_range.last + 1
        return cls(entry_range, entry_range.frames(), first, stop, max(1, entry_range.entry_bytes))

    @property
    def is_complete(self) -> bool:
        """Return whether all available entries were returned."""
        return self.frames.next >= self.end

    @property
    def is_full(self) -> bool:
        return self.frames.buffered_bytes > _HOLD_BYTES

    @property
    def has_batch_read(self) -> bool:
        return any(read.batch is not None for read in self.in_flight)

    def take(self) -> EntryBatch | None:
        """Remove and return the next received entries, up to the first gap."""
        entries = self.frames.take()
        if entries is not None:
            self.entry_bytes = max(1, self.entry_range.entry_bytes, entries.nbytes // len(entries))
        return entries

    def end_before(self, entry: int, why: LedgerUnavailable) -> None:
        """Record that no bookie returns the entry. Earlier requests are still completed."""
        if entry < self.end:
            self.end, self.unavailable = entry, why

    def missing_in(self, read: InFlightRead) -> int:
        """Return the number of entries of the read that have not arrived."""
        entries = read.entries
        return self.frames.missing(entries.start, entries.stop, entries.step, read.size)

    def first_missing(self, read: InFlightRead) -> int | None:
        """Return the first entry that has not arrived, for a read of single entries."""
        return next((entry for entry in read.entries if self.frames.missing(entry, entry + 1, 1)), None)

    def bookies_to_hear(self) -> set[str]:
        """Return the bookies whose answers the reader can process now."""
        if not self.is_full:
            return {read.bookie for read in self.in_flight}
        return {read.bookie for read in self.in_flight if read.covers(self.frames.next)}

    def pop_batch_read(self, batch: int) -> InFlightRead | None:
        read = next((read for read in self.in_flight if read.batch == batch), None)
        if read is not None:
            self.in_flight.remove(read)
        return read

    def pop_read(self, bookie: str, entry: int) -> InFlightRead | None:
        """Remove and return the read of the entry. Its other entries stay in flight."""
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
            self.in_flight += read.split_around(entry)
        return read

    def pop_reads_of(self, bookie: str) -> list[InFlightRead]:
        """Remove and return all reads that are in flight to the bookie."""
        popped = [read for read in self.in_flight if read.bookie == bookie]
        self.in_flight = [read for read in self.in_flight if read.bookie != bookie]
        return popped

    def pop_due(self, now: float) -> list[InFlightRead]:
        """Remove and return the reads whose pause has ended."""
        due = [read for read in self.paused if read.not_before <= now]
        self.paused = [read for read in self.paused if read.not_before > now]
        return due

    def drop_answered(self, bookie: str) -> None:
        """Remove the reads of this bookie whose entries have all arrived."""
        self.in_flight = [
            read
            for read in self.in_flight
            if read.bookie != bookie or read.batch is not None or self.missing_in(read) > 0
        ]
