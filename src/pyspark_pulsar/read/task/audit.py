"""The audit of a task, which compares the entries that the task has read with its split. Executor only.

With `auditPath`, the result is also written to a file. The task reads the ranges of a split one after the other, and
each range has a `RangeTally`. If a location promises a number of entries (`EntryLocation.expected_entries`), the task
must have read this number. The broker sends neither markers nor messages of aborted transactions. So for a range of the
broker, only the positions are checked: the task must have read up to the end.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.errors import LedgerUnavailable, PulsarError
from pyspark_pulsar.model.position import Position, after_entry
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import EntryLocation, RangeProgress, RowLocation
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.audit_files import AuditFile, AuditPart, write_audit
from pyspark_pulsar.runtime import time
from pyspark_pulsar.spark.task_context import Attempt

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class RangeTally:
    """The counts of entries and rows that one reader has returned for one range."""

    where: str
    """The name of the topic partition."""
    split_range: SplitRange
    counts_messages: bool
    first: tuple[int, int] | None = None
    """Ledger id and entry id of the first received entry inside of the range. `last` is the last such entry."""
    last: tuple[int, int] | None = None
    entries: int = 0
    """Number of received entries inside of the range."""
    first_received: tuple[int, int] | None = None
    """Ledger id and entry id of the first received entry, inside or outside of the range."""
    received: int = 0
    """Number of received entries, including entries outside of the range."""
    messages: int = 0
    size: int = 0
    fallback: str | None = None
    """The reason why this reader reads the range instead of another reader; None if the range was planned for it."""
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    is_whole: bool = False
    fell_back: bool = False
    """True if another reader continues at the end of `split_range`."""
    is_lost: bool = False
    """True if no location has the range any more, and the query continues without it."""
    row_reached: Position | None = None
    """The last known position after all received rows; always None if the location returns entries."""

    def take(self, entries: EntryBatch) -> bool:
        """Count the next received entries. Entries that are repeated or outside of the range are dropped first.

        The first and last entry of the range may contain messages outside of the range. Returns whether any entries are
        left.
        """
        self.first_received = self.first_received or entries.first
        self.received += len(entries)
        entries.trim(self.reached.as_tuple(), self.split_range.end.as_tuple())
        if entries.last is None:
            return False
        self.first = self.first or entries.first
        self.last = entries.last
        self.entries += len(entries)
        self.size += entries.nbytes
        if self.counts_messages:
            self.messages += entries.num_messages
        return True

    def take_rows(self, rows: int, size: int, reached: Position | None) -> None:
        """Count the next received rows.

        `size` is the size of the rows in memory, in bytes. `reached` is the position after the rows.
        """
        self.messages += rows
        self.size += size
        self.row_reached = reached or self.row_reached

    def end(self) -> None:
        """Finish a range that the reader has read to its end. Raises `LedgerUnavailable` if entries are missing."""
        self.stop()
        got = self.counted
        if self.expected is not None and got != self.expected:
            raise LedgerUnavailable(
                f"{self.where}: {self.split_range.location.name}, from {self.split_range.start} up to "
                f"{self.split_range.end}: expected {self.expected} entries, got {got}; set option readFrom to another "
                f"location"
            )
        self.is_whole = True

    def lose(self) -> None:
        """Record that the missing part is lost, and that the query continues without it."""
        self.is_whole, self.is_lost = False, True

    def stop(self) -> None:
        self.seconds = time.monotonic() - self.began

    @property
    def reached(self) -> Position:
        """The position after the last received entry of the range."""
        if self.row_reached is not None:
            return self.row_reached
        return self.split_range.start if self.last is None else after_entry(*self.last)

    @property
    def progress(self) -> RangeProgress:
        return RangeProgress(self.reached, self.first_received, self.entries)

    @property
    def is_whole_ledger(self) -> bool:
        location = self.split_range.location
        return isinstance(location, EntryLocation) and location.returns_whole_ledger

    @property
    def counted(self) -> int:
        """The number of entries to compare with `expected`."""
        return self.received if self.is_whole_ledger else self.entries

    @property
    def is_short(self) -> bool:
        """True if a part of the range is missing."""
        if self.is_whole or (self.fell_back and isinstance(self.split_range.location, RowLocation)):
            return False
        return not self.fell_back or (not self.is_whole_ledger and self.entries != self.expected)

    @property
    def expected(self) -> int | None:
        """The value of `EntryLocation.expected_entries`, or None if the location returns rows."""
        location = self.split_range.location
        if not isinstance(location, EntryLocation):
            return None
        return location.expected_entries(self.split_range.start, self.split_range.end)


class SplitAudit:
    """The tallies of one split, in order. Used by one task."""

    def __init__(
        self, split: Split, attempt: Attempt | None = None, *, counts_messages: bool = False
    ) -> None:
        """Create an audit.

        With `counts_messages`, the tallies also contain the number of messages by the entries' metadata.
        """
        self._split = split
        self._attempt = attempt or Attempt()
        self._counts_messages = counts_messages
        self._began = time.monotonic()
        self.tallies: list[RangeTally] = []
        self._fallback: str | None = None

    def begin(self, split_range: SplitRange) -> RangeTally:
        """Start the tally of a reader that reads a range, or the rest of a range."""
        tally = RangeTally(
            str(self._split.partition), split_range, self._counts_messages, fallback=self._fallback
        )
        self._fallback = None
        self.tallies.append(tally)
        return tally

    def note_fallback(self, why: str) -> None:
        """Record the reason why the next reader reads a range whose planned location is avoided."""
        self._fallback = why

    def fall_back(self, at: Position, why: str) -> None:
        """Record that another reader continues at `at`.

        Entries after `at` are no longer counted for the present reader.
        """
        tally, self._fallback = self.tallies[-1], why
        tally.stop()
        tally.fell_back = True
        if tally.first is not None and not tally.is_whole_ledger:
            tally.entries = min(tally.entries, max(0, at.entry - tally.first[1]))
            tally.last = (at.ledger, at.entry - 1) if tally.entries else None
        tally.split_range = replace(tally.split_range, end=min(at, tally.split_range.end))

    def lose(self, rest: SplitRange) -> None:
        """Record that the rest of a range is lost. The query continues without it, and the audit contains the loss."""
        tally = self.begin(rest)
        tally.stop()
        tally.lose()

    def check(self) -> None:
        """Raise `LedgerUnavailable` unless the tallies cover the ranges of the split in order.

        Each range must have been read to its end, or be recorded as lost.
        """
        tallies = iter([tally for tally in self.tallies if tally.split_range.start < tally.split_range.end])
        for split_range in self._split.ranges:
            reached = split_range.start
            while reached < split_range.end:
                tally = next(tallies, None)
                if tally is None or tally.split_range.start != reached:
                    got = "nothing" if tally is None else f"messages from {tally.split_range.start}"
                    raise self._fault(f"messages from {reached} up to {split_range.end}, got {got}")
                if tally.is_short and not tally.is_lost:
                    raise self._fault(
                        f"all entries from {tally.split_range.start} up to {tally.split_range.end}, got "
                        f"{tally.entries} from {tally.split_range.location.name}"
                    )
                reached = tally.split_range.end

    def _fault(self, text: str) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"{self._split.partition}: audit of the split from {self._split.start} up to {self._split.end}: expected "
            f"{text}. The task fails, because rows would be missing; report this as a bug"
        )

    def document(self, error: str | None) -> AuditFile:
        """Return the content of the audit file.

        `error` is the reason why the task failed; None if the task did not fail.
        """
        split, attempt = self._split, self._attempt
        return AuditFile(
            run=attempt.run,
            topic=str(split.partition.topic),
            partition=split.partition.index,
            start=str(split.start),
            end=str(split.end),
            attempt=attempt.number,
            task=attempt.task,
            state="failed" if error else "finished",
            error=error,
            finished_ms=time.time_ns() // 1_000_000,
            seconds=round(time.monotonic() - self._began, 3),
            parts=tuple(_part(tally) for tally in self.tallies),
            slots=split.slots,
        )


@contextmanager
def audit_split(
    options: ReadOptions, split: Split, attempt: Attempt | None
) -> Generator[SplitAudit, None, None]:
    """Audit a split while the block reads it, and check the audit at the end.

    If `auditPath` is set, the audit is written to this folder, even if the task fails. If Spark stops a task because it
    has enough rows, no audit is written.

    Raises:
        LedgerUnavailable: A part of the split is missing.
        OptionError: The folder cannot be written.

    """
    audit = SplitAudit(split, attempt, counts_messages=options.audit_path is not None)
    try:
        yield audit
        audit.check()
    except Exception as fault:
        if options.audit_path is not None:
            _try_to_write(options.audit_path, audit.document(_reason(fault)))
        raise
    if options.audit_path is not None:
        write_audit(options.audit_path, audit.document(None))


def _try_to_write(path: str, document: AuditFile) -> None:
    try:
        write_audit(path, document)
    except PulsarError as fault:
        _log.warning("Could not write the audit of a failed task: %s", fault)


def _reason(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}"


def _part(tally: RangeTally) -> AuditPart:
    location = tally.split_range.location
    if location.ledger_id is not None:
        ledger = last = location.ledger_id
    elif tally.first is not None and tally.last is not None:
        ledger, last = tally.first[0], tally.last[0]
    else:
        ledger, last = tally.split_range.start.ledger, tally.split_range.end.ledger
    return AuditPart(
        reader=location.name,
        ledger=ledger,
        last_ledger=last,
        start=str(tally.split_range.start),
        end=str(tally.split_range.end),
        first=_text(tally.first),
        last=_text(tally.last),
        expected=tally.expected,
        entries=tally.counted,
        messages=tally.messages,
        size=tally.size,
        short=tally.is_short,
        fallback=tally.fallback,
        seconds=round(tally.seconds or time.monotonic() - tally.began, 3),
    )


def _text(place: tuple[int, int] | None) -> str | None:
    return None if place is None else f"{place[0]}:{place[1]}"
