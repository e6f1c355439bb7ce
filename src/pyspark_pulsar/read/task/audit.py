"""What a task has read against what its split promised: checked always, written down where `auditPath` asks for it.

Executor only. A split is read by runs, one after the other: each is what one reader has given of one range. Where a
location promises a number of entries (`EntryLocation.expected_entries`), this number must have been read. The broker
sends neither markers nor messages of aborted transactions, so of what it sends only the positions can be checked: that
it was read up to the end.
"""

from __future__ import annotations

import logging
import time
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
from pyspark_pulsar.spark.task_context import Attempt

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class Run:
    """What one reader has given of one range."""

    where: str
    """The topic partition."""
    split_range: SplitRange
    counts_messages: bool
    first: tuple[int, int] | None = None
    """Ledger and entry of the first and the last entry of the range that came."""
    last: tuple[int, int] | None = None
    entries: int = 0
    """Entries of the range."""
    first_received: tuple[int, int] | None = None
    """Ledger and entry of the first that came, inside the range or not."""
    received: int = 0
    """Entries that came, also those outside the range."""
    messages: int = 0
    size: int = 0
    fallback: str | None = None
    """Why this reader goes on where another was to read."""
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    is_whole: bool = False
    gave_way: bool = False
    """Another reader goes on at the end that `split_range` now has."""
    is_lost: bool = False
    """Nobody has it any more, and the query goes on without it."""
    row_reached: Position | None = None
    """Of a place that gives rows: behind all that came, as far as that is known."""

    def take(self, entries: EntryBatch) -> bool:
        """The next entries that came: drops those outside the range and those that came before, and counts the others.
        Returns whether there are any. What is left at the ends may hold messages outside the range."""
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
        """The next rows that came, of so many bytes in memory; `reached`: where those behind them begin."""
        self.messages += rows
        self.size += size
        self.row_reached = reached or self.row_reached

    def end(self) -> None:
        """The reader says that this was all. Raises `LedgerUnavailable` when entries are missing."""
        self.stop()
        got = self.counted
        if self.expected is not None and got != self.expected:
            raise LedgerUnavailable(
                f"{self.where}: {self.split_range.location.name}, from {self.split_range.start} up to "
                f"{self.split_range.end}: expected {self.expected} entries, got {got}; read it from another place "
                f"(option readFrom)"
            )
        self.is_whole = True

    def lose(self) -> None:
        """What did not come is gone, and the query goes on without it."""
        self.is_whole, self.is_lost = False, True

    def stop(self) -> None:
        self.seconds = time.monotonic() - self.began

    @property
    def reached(self) -> Position:
        """Behind the last entry of the range that came."""
        if self.row_reached is not None:
            return self.row_reached
        return self.split_range.start if self.last is None else after_entry(*self.last)

    @property
    def progress(self) -> RangeProgress:
        return RangeProgress(self.reached, self.first_received, self.entries)

    @property
    def is_whole_ledger(self) -> bool:
        location = self.split_range.location
        return isinstance(location, EntryLocation) and location.gives_whole_ledger

    @property
    def counted(self) -> int:
        """The entries that `expected` counts."""
        return self.received if self.is_whole_ledger else self.entries

    @property
    def is_short(self) -> bool:
        """Whether something of the range did not come, as far as can be told."""
        if self.is_whole or (self.gave_way and isinstance(self.split_range.location, RowLocation)):
            return False
        return not self.gave_way or (not self.is_whole_ledger and self.entries != self.expected)

    @property
    def expected(self) -> int | None:
        """See `EntryLocation.expected_entries`; None of rows."""
        location = self.split_range.location
        if not isinstance(location, EntryLocation):
            return None
        return location.expected_entries(self.split_range.start, self.split_range.end)


class SplitAudit:
    """The runs of one split, in order. Used by one task."""

    def __init__(
        self, split: Split, attempt: Attempt | None = None, *, counts_messages: bool = False
    ) -> None:
        """`counts_messages`: also messages, which takes a look at every entry."""
        self._split = split
        self._attempt = attempt or Attempt()
        self._counts_messages = counts_messages
        self._began = time.monotonic()
        self.runs: list[Run] = []
        self._fallback: str | None = None

    def begin(self, split_range: SplitRange) -> Run:
        """A reader begins with a range, or with the rest of one."""
        run = Run(str(self._split.partition), split_range, self._counts_messages, fallback=self._fallback)
        self._fallback = None
        self.runs.append(run)
        return run

    def stand_in(self, why: str) -> None:
        """Another reader goes on for one that is not even asked."""
        self._fallback = why

    def give_way(self, at: Position, why: str) -> None:
        """Another reader goes on at `at`; what the present one, a direct one, has given from there on does not
        count."""
        run, self._fallback = self.runs[-1], why
        run.stop()
        run.gave_way = True
        if run.first is not None and not run.is_whole_ledger:
            run.entries = min(run.entries, max(0, at.entry - run.first[1]))
            run.last = (at.ledger, at.entry - 1) if run.entries else None
        run.split_range = replace(run.split_range, end=min(at, run.split_range.end))

    def lose(self, rest: SplitRange) -> None:
        """Behind what the readers gave of a range, the rest is gone; the query goes on without it, and its audit shows
        what is missing."""
        run = self.begin(rest)
        run.stop()
        run.lose()

    def check(self) -> None:
        """Raises `LedgerUnavailable` unless the runs are the ranges of the split, in order, each read to its end or
        known to be lost."""
        runs = iter([run for run in self.runs if run.split_range.start < run.split_range.end])
        for split_range in self._split.ranges:
            reached = split_range.start
            while reached < split_range.end:
                run = next(runs, None)
                if run is None or run.split_range.start != reached:
                    got = "nothing" if run is None else f"what begins at {run.split_range.start}"
                    raise self._fault(f"messages from {reached} up to {split_range.end}, got {got}")
                if run.is_short and not run.is_lost:
                    raise self._fault(
                        f"all entries from {run.split_range.start} up to {run.split_range.end}, got {run.entries} from "
                        f"{run.split_range.location.name}"
                    )
                reached = run.split_range.end

    def _fault(self, text: str) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"{self._split.partition}: audit of the split from {self._split.start} up to {self._split.end}: expected "
            f"{text}; the task fails so that no row is missing in silence; please report this"
        )

    def document(self, error: str | None) -> AuditFile:
        """What is written down; `error`: why the task failed."""
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
            parts=tuple(_part(run) for run in self.runs),
            slots=split.slots,
        )


@contextmanager
def audited(options: ReadOptions, split: Split, attempt: Attempt | None) -> Generator[SplitAudit, None, None]:
    """The audit of a split while it is read: checked at the end, and written to `auditPath` if that is given, also when
    the task fails. A task that Spark stops, since it has rows enough, leaves nothing.

    Raises `LedgerUnavailable` for a split that is short, `OptionError` for a folder that cannot be written.
    """
    audit = SplitAudit(split, attempt, counts_messages=options.audit_path is not None)
    try:
        yield audit
        audit.check()
    except Exception as fault:
        if options.audit_path is not None:
            _write_in_spite(options.audit_path, audit.document(_reason(fault)))
        raise
    if options.audit_path is not None:
        write_audit(options.audit_path, audit.document(None))


def _write_in_spite(path: str, document: AuditFile) -> None:
    try:
        write_audit(path, document)
    except PulsarError as fault:
        _log.warning("the audit of a task that failed is not written: %s", fault)


def _reason(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}"


def _part(run: Run) -> AuditPart:
    location = run.split_range.location
    if location.ledger_id is not None:
        ledger = last = location.ledger_id
    elif run.first is not None and run.last is not None:
        ledger, last = run.first[0], run.last[0]
    else:
        ledger, last = run.split_range.start.ledger, run.split_range.end.ledger
    return AuditPart(
        reader=location.name,
        ledger=ledger,
        last_ledger=last,
        start=str(run.split_range.start),
        end=str(run.split_range.end),
        first=_text(run.first),
        last=_text(run.last),
        expected=run.expected,
        entries=run.counted,
        messages=run.messages,
        size=run.size,
        short=run.is_short,
        fallback=run.fallback,
        seconds=round(run.seconds or time.monotonic() - run.began, 3),
    )


def _text(place: tuple[int, int] | None) -> str | None:
    return None if place is None else f"{place[0]}:{place[1]}"
