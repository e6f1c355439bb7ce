"""The entries of a topic partition by number, and searching them. Driver only."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entry lies, and where it was produced."""

    position: Position
    published_ms: int | None
    """Unix milliseconds by the producer's clock; None where damage hides it."""
    cluster: str | None
    """That it was replicated from; None for an entry that was produced here."""
    source: tuple[int, int] | None
    """Ledger and entry in that cluster, if its replicator told."""


IsIt = Callable[[Origin], bool]
FirstEntry = Callable[[Position, Position, IsIt], Origin | None]
"""The first visible entry from a position up to another one (exclusive) of which something is so. The second is not
behind the last message."""


class TopicLog:
    """Of one topic partition at one time. The first entry that is there has number 0."""

    def __init__(self, ledgers: Sequence[Ledger], end: Position, first_entry: FirstEntry) -> None:
        """`end`: behind the last message; what `ledgers` do not know of is not looked at."""
        self.ledgers = tuple(ledgers)
        self._ids = [ledger.id for ledger in ledgers]
        self._numbers = [0, *accumulate(ledger.entries for ledger in ledgers)]
        self._first_entry = first_entry
        known = after_entry(ledgers[-1].id, ledgers[-1].entries - 1) if ledgers else EARLIEST
        self.end = min(known, end)
        """Behind the last message."""
        self.size = self.number(self.end)
        """Entries before it."""

    def number(self, position: Position) -> int:
        """How many entries lie before that of the position."""
        index = bisect_right(self._ids, position.ledger) - 1
        if index < 0:
            return 0
        if self._ids[index] != position.ledger:
            return self._numbers[index + 1]
        return min(self._numbers[index] + position.entry, self._numbers[index + 1])

    def position(self, number: int) -> Position:
        """Of the entry before which so many lie; `end` where there are no more."""
        if number >= self.size:
            return self.end
        index = bisect_right(self._numbers, number) - 1
        return Position(self._ids[index], number - self._numbers[index])

    def first(self, low: int, high: int, is_it: IsIt) -> Origin | None:
        """The first entry from number `low` up to `high` (exclusive) of which `is_it` is so. Raises what `first_entry`
        raises."""
        high = min(high, self.size)
        return self._first_entry(self.position(low), self.position(high), is_it) if 0 <= low < high else None

    def border(
        self, low: int, high: int, is_it: IsIt, is_behind: IsIt
    ) -> tuple[Origin | None, Origin | None]:
        """Two neighbours among the entries from number `low` up to `high` (exclusive) of which `is_it` is so: one that
        is not behind, and the next, which is. Where there is none of one kind it is None.

        Of several such places, as entries make that came twice, it is any.
        """
        before = behind = None
        high = min(high, self.size)
        while low < high:
            middle = (low + high) // 2
            origin = self.first(middle, high, is_it)
            if origin is None:
                high = middle
            elif is_behind(origin):
                behind, high = origin, middle
            else:
                before, low = origin, self.number(origin.position) + 1
        return before, behind
