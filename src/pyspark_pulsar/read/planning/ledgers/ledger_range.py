"""The parts of a topic partition's range, one for each ledger, and how each part is cut. Driver only; no I/O."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.read.location import EntryLocation
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.sources.broker import FromBroker

_BROKER: Final = FromBroker()


@dataclass(frozen=True, slots=True)
class LedgerRange:
    """The part of a range that is in one ledger, from `start` (inclusive) to `end` (exclusive); not empty.

    If `ledger` is None, the ledgers of the range are unknown.
    """

    start: Position
    end: Position
    ledger: Ledger | None
    location: EntryLocation = _BROKER
    """The location to read the range from: the broker, until the step `placement` sets another location."""
    is_compacted: bool = False
    """True if `ledger` is a compacted view. Positions do not determine its entries, so the range is not cut."""

    @property
    def entries(self) -> int:
        """The number of entries in the range; 1 if the range cannot be cut."""
        if self.is_compacted or self.start.ledger != self.end.ledger:
            return 1
        return self.end.entry - self.start.entry + (1 if self.end.batch_index > 0 else 0)

    @property
    def sized_location(self) -> EntryLocation:
        """The location of the range, with its number of entries.

        The number is None if the ledger is unknown or is a compacted view.
        """
        return self.location.with_entries(None if self.ledger is None or self.is_compacted else self.entries)

    @property
    def entry_bytes(self) -> float:
        """The mean size of an entry in the ledger, in bytes; 0 if the size is unknown."""
        ledger = self.ledger
        if self.is_compacted and ledger is not None:
            return float(ledger.size)
        return ledger.size / ledger.entries if ledger is not None and ledger.entries > 0 else 0.0

    @property
    def entry_rows(self) -> float | None:
        """The mean number of messages per entry; always None, because the number of messages of a ledger is unknown."""
        return None

    def cut_at(self, entries: Iterable[int]) -> list[LedgerRange]:
        """Cut the range before each of these sorted entries. Entries outside of the range are ignored."""
        borders = [
            border
            for entry in entries
            if self.start < (border := Position(self.start.ledger, entry)) < self.end
        ]
        return self._parts(borders)

    def cut(self, parts: int) -> list[LedgerRange]:
        """Cut the range into at most `parts` ranges with about the same number of entries."""
        parts = max(1, min(parts, self.entries))
        borders = [
            Position(self.start.ledger, self.start.entry + self.entries * index // parts)
            for index in range(1, parts)
        ]
        return self._parts(borders)

    def _parts(self, borders: list[Position]) -> list[LedgerRange]:
        return [
            LedgerRange(start, end, self.ledger, self.location)
            for start, end in zip([self.start, *borders], [*borders, self.end], strict=True)
        ]


def ledger_ranges(ledgers: tuple[Ledger, ...] | None, start: Position, end: Position) -> list[LedgerRange]:
    """Return the parts of a range, one for each ledger, in order. All parts are at the broker.

    A position after the last entry of a closed ledger, or in a removed ledger, means the start of the next ledger.

    Args:
        ledgers: All ledgers, sorted by id; None if they are unknown.
        start: The start of the range (inclusive).
        end: The end of the range (exclusive).

    """
    if start >= end:
        return []
    if not ledgers:
        return [LedgerRange(start, end, None)]
    ranges: list[LedgerRange] = []
    # A topic partition may have thousands of ledgers, but a micro-batch reads only one or two of them.
    begin = bisect_left(ledgers, start.ledger, key=_id)
    after = bisect_right(ledgers, end.ledger, key=_id)
    for index, ledger in enumerate(ledgers[begin:after], begin):
        first = start if start.ledger == ledger.id else Position(ledger.id, 0)
        is_last = index == len(ledgers) - 1
        if is_last and end.ledger > ledger.id:
            # The topic has a newer ledger, which did not exist when the ledgers were listed.
            ranges.append(LedgerRange(first, end, None))
        else:
            last = _end_in_ledger(ledger, end, is_last=is_last)
            if first < last:
                ranges.append(LedgerRange(first, last, ledger))
    if not ranges and start.ledger > ledgers[-1].id:
        return [LedgerRange(start, end, None)]
    return ranges


def compacted_ranges(known: TopicLedgers | None, start: Position, end: Position) -> list[LedgerRange]:
    """Return the parts of a range of a compacted topic: the compacted view, then the ledgers after it."""
    if start >= end:
        return []
    if known is None or not known.compaction_is_clear:
        return [LedgerRange(start, end, None)]
    view, until = known.compacted, known.compacted_until
    if view is None or until is None or until <= start:
        return ledger_ranges(known.ledgers, start, end)
    within = LedgerRange(start, min(until, end), view, is_compacted=True)
    return [within, *ledger_ranges(known.ledgers, until, end)]


def _id(ledger: Ledger) -> int:
    return ledger.id


def _end_in_ledger(ledger: Ledger, end: Position, *, is_last: bool) -> Position:
    """Return the end of a range in `ledger`. The end of the open ledger is unknown."""
    full = Position(ledger.id, ledger.entries)
    if end.ledger != ledger.id:
        return full
    return end if is_last and ledger.is_open else min(end, full)
