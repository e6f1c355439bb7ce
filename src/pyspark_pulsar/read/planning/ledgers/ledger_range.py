"""A range of a topic partition, ledger by ledger, and where each part of it can be cut. Driver only; no I/O."""

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
    """The part of a range that lies in one ledger; or, with `ledger` None, one of which nothing is known.

    From `start` (inclusive) to `end` (exclusive); not empty.
    """

    start: Position
    end: Position
    ledger: Ledger | None
    location: EntryLocation = _BROKER
    """The broker's, until `planning.placement` says another."""
    is_compacted: bool = False
    """`ledger` is a compacted view: positions say nothing of its entries, so it is not cut."""

    @property
    def entries(self) -> int:
        """How many entries hold it, wholly or in part; 1 for a range that cannot be cut."""
        if self.is_compacted or self.start.ledger != self.end.ledger:
            return 1
        return self.end.entry - self.start.entry + (1 if self.end.batch_index > 0 else 0)

    @property
    def place(self) -> EntryLocation:
        """The location, which knows the number of entries where the ledger shows it."""
        return self.location.with_entries(None if self.ledger is None or self.is_compacted else self.entries)

    @property
    def entry_bytes(self) -> float:
        """The mean size of an entry of its ledger; 0 where it is not known."""
        ledger = self.ledger
        if self.is_compacted and ledger is not None:
            return float(ledger.size)
        return ledger.size / ledger.entries if ledger is not None and ledger.entries > 0 else 0.0

    @property
    def entry_rows(self) -> float | None:
        """Messages in an entry: a ledger does not tell."""
        return None

    def cut_at(self, entries: Iterable[int]) -> list[LedgerRange]:
        """The same in parts that begin with these entries, which are in order; those outside count for nothing."""
        borders = [
            border
            for entry in entries
            if self.start < (border := Position(self.start.ledger, entry)) < self.end
        ]
        return self._parts(borders)

    def cut(self, parts: int) -> list[LedgerRange]:
        """At most `parts` ranges of about as many entries, which together are this one."""
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
    """What lies in the range, in order; all of it from the broker. `ledgers`: sorted by id; None: they are not known.

    A position behind the last entry of a closed ledger, or in one that is gone, means the start of the next.
    """
    if start >= end:
        return []
    if not ledgers:
        return [LedgerRange(start, end, None)]
    ranges: list[LedgerRange] = []
    # A micro-batch touches one or two of a topic partition's thousands.
    begin = bisect_left(ledgers, start.ledger, key=_id)
    behind = bisect_right(ledgers, end.ledger, key=_id)
    for index, ledger in enumerate(ledgers[begin:behind], begin):
        first = start if start.ledger == ledger.id else Position(ledger.id, 0)
        is_last = index == len(ledgers) - 1
        if is_last and end.ledger > ledger.id:
            # The topic has gone on since its ledgers were listed.
            ranges.append(LedgerRange(first, end, None))
        else:
            last = _last(ledger, end, is_last=is_last)
            if first < last:
                ranges.append(LedgerRange(first, last, ledger))
    if not ranges and start.ledger > ledgers[-1].id:
        return [LedgerRange(start, end, None)]
    return ranges


def compacted_ranges(known: TopicLedgers | None, start: Position, end: Position) -> list[LedgerRange]:
    """What lies in a range of the compacted view of a topic: the view, and behind it the ledgers."""
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


def _last(ledger: Ledger, end: Position, *, is_last: bool) -> Position:
    """The end of a range in `ledger`. Nothing is known of the end of the one that is written to."""
    full = Position(ledger.id, ledger.entries)
    if end.ledger != ledger.id:
        return full
    return end if is_last and ledger.is_open else min(end, full)
