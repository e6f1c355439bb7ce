"""The state of a `LedgerReader`. The module `ledger_reader` describes the states of entries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

from pyspark_pulsar._kernel import EntryBatch, LedgerFrames
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.in_flight_read import InFlightRead
from pyspark_pulsar.errors import LedgerUnavailable

# If more bytes wait for the caller, the reader receives only from the bookie with the caller's next entry.
_HOLD_BYTES: Final = 24 << 20


@dataclass(slots=True)
class ReadState:
    """The state of a read over one entry range. `before_requests` creates an instance."""

    entry_range: EntryRange
    frames: LedgerFrames
    """The buffer of received entries, which also records which entries were returned to the caller."""
    ahead: int
    """The first entry in the state "ahead". Entries from `ahead` on are in no read except a BATCH_READ."""
    end: int
    """The first entry that no bookie returns. If no entry is missing so far, the value is the first entry after the
    range."""
    entry_bytes: int
    """The estimated mean entry size in bytes, at least 1. The estimate is the larger of two values: the planned size,
    and the mean size in the last batch."""
    unavailable: LedgerUnavailable | None = None
    """The error for the entry `end`. None if no entry is missing so far."""
    in_flight: list[InFlightRead] = field(default_factory=list)
    paused: list[InFlightRead] = field(default_factory=list)
    is_misled: bool = False
    """True if a bookie lacks an entry that the guessed write set assigns to the bookie."""

    @classmethod
    def before_requests(cls, entry_range: EntryRange) -> Self:
        """Return the state before the first request. Raise `LedgerUnavailable` if the digest type is unsupported."""
        first, stop = entry_range.first, entry_range.last + 1
        return cls(entry_range, entry_range.frames(), first, stop, max(1, entry_range.entry_bytes))

    @property
    def is_complete(self) -> bool:
        """Return whether the caller has all entries before `end`."""
        return self.frames.next >= self.end

    @property
    def is_full(self) -> bool:
        return self.frames.buffered_bytes > _HOLD_BYTES

    @property
    def has_batch_read(self) -> bool:
        return any(read.batch is not None for read in self.in_flight)

    def take(self) -> EntryBatch | None:
        """Remove and return the received entries before the first gap. Return None if no entry is ready."""
        entries = self.frames.take()
        if entries is not None:
            self.entry_bytes = max(1, self.entry_range.entry_bytes, entries.nbytes // len(entries))
        return entries

    def end_before(self, entry: int, why: LedgerUnavailable) -> None:
        """Record that no bookie returns the entry. The read still returns all entries before this entry."""
        if entry < self.end:
            self.end, self.unavailable = entry, why

    def missing_in(self, read: InFlightRead) -> int:
        """Return how many entries of the read were not received yet."""
        entries = read.entries
        return self.frames.missing(entries.start, entries.stop, entries.step, read.size)

    def first_missing(self, read: InFlightRead) -> int | None:
        """Return the first entry of the read that was not received yet, or None. The read must not have groups."""
        return next((entry for entry in read.entries if self.frames.missing(entry, entry + 1, 1)), None)

    def bookies_to_hear(self) -> set[str]:
        """Return the bookies with reads in flight. If the buffer is full, return only the bookie of the next entry."""
        if not self.is_full:
            return {read.bookie for read in self.in_flight}
        return {read.bookie for read in self.in_flight if read.covers(self.frames.next)}

    def pop_batch_read(self, batch: int) -> InFlightRead | None:
        read = next((read for read in self.in_flight if read.batch == batch), None)
        if read is not None:
            self.in_flight.remove(read)
        return read

    def pop_read(self, bookie: str, entry: int) -> InFlightRead | None:
        """Remove the entry from the read that is in flight to the bookie. The other entries stay in flight.

        Returns:
            The read with all its entries, from before the removal. None if no read to the bookie contains the entry.

        """
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
        """Remove the bookie's reads whose entries were all received."""
        self.in_flight = [
            read
            for read in self.in_flight
            if read.bookie != bookie or read.batch is not None or self.missing_in(read) > 0
        ]
