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
    """Position and origin of an entry.

    Attributes:
        published_ms: Unix milliseconds by the producer's clock; None if the entry is damaged.
        cluster: The cluster from which the entry was replicated; None if it was produced here.
        source: Ledger and entry in that cluster, if the replicator recorded them.

    """

    position: Position
    published_ms: int | None
    cluster: str | None
    source: tuple[int, int] | None


Condition = Callable[[Origin], bool]
FirstEntry = Callable[[Position, Position, Condition], Origin | None]
"""Returns the first visible entry that meets a condition, from a position up to another one (exclusive).

The second position is at most the position after the last message.
"""


class TopicLog:
    """The entries of one topic partition, as of one time. The first existing entry has number 0."""

    def __init__(self, ledgers: Sequence[Ledger], end: Position, first_entry: FirstEntry) -> None:
        """Number the entries of the ledgers up to `end`, the position after the last message.

        Entries in ledgers that `ledgers` lacks are ignored.
        """
        self.ledgers = tuple(ledgers)
        self._ids = [ledger.id for ledger in ledgers]
        self._numbers = [0, *accumulate(ledger.entries for ledger in ledgers)]
        self._first_entry = first_entry
        known = after_entry(ledgers[-1].id, ledgers[-1].entries - 1) if ledgers else EARLIEST
        self.end = min(known, end)
        """The position after the last message."""
        self.size = self.number(self.end)
        """The number of entries before the end."""

    def number(self, position: Position) -> int:
        """Return the number of entries before the entry at a position."""
        index = bisect_right(self._ids, position.ledger) - 1
        if index < 0:
            return 0
        if self._ids[index] != position.ledger:
            return self._numbers[index + 1]
        return min(self._numbers[index] + position.entry, self._numbers[index + 1])

    def position(self, number: int) -> Position:
        """Return the position of the entry with this number, or `end` if there is none."""
        if number >= self.size:
            return self.end
        index = bisect_right(self._numbers, number) - 1
        return Position(self._ids[index], number - self._numbers[index])

    def first(self, low: int, high: int, condition: Condition) -> Origin | None:
        """Return the first entry that meets a condition, from number `low` up to `high` (exclusive).

        Raises what `first_entry` raises.
        """
        high = min(high, self.size)
        return (
            self._first_entry(self.position(low), self.position(high), condition) if 0 <= low < high else None
        )

    def border(
        self, low: int, high: int, condition: Condition, is_after: Condition
    ) -> tuple[Origin | None, Origin | None]:
        """Find where `is_after` changes from false to true, among the entries that meet a condition.

        Entries that were sent twice may have several such places. The result is then any of them.

        Args:
            low: The first number.
            high: The number after the last one.
            condition: Selects entries.
            is_after: False for the entries before the border, and true for the others.

        Returns:
            The entry directly before the border and the entry directly after it, each None if there is none.

        """
        before = after = None
        high = min(high, self.size)
        while low < high:
            middle = (low + high) // 2
            origin = self.first(middle, high, condition)
            if origin is None:
                high = middle
            elif is_after(origin):
                after, high = origin, middle
            else:
                before, low = origin, self.number(origin.position) + 1
        return before, after
