"""The numbered entries of a topic partition, and searches among these entries on the driver."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry


@dataclass(frozen=True, slots=True)
class Origin:
    """The position of an entry, and the cluster that the entry is from.

    Attributes:
        published_ms: Unix milliseconds by the producer's clock; None if the entry is damaged.
        cluster: The cluster from which the entry was replicated; None if the entry was produced in this cluster.
        source: The ids of the ledger and the entry in `cluster`; None if the replicator did not record these ids.

    """

    position: Position
    published_ms: int | None
    cluster: str | None
    source: tuple[int, int] | None


Condition = Callable[[Origin], bool]
FirstEntry = Callable[[Position, Position, Condition], Origin | None]
"""A function that returns the first visible entry that meets a condition, in a half-open range of positions.

The second position is at most the position after the last message.
"""


class TopicLog:
    """The entries of one topic partition at one moment. The first existing entry has number 0."""

    def __init__(self, ledgers: Sequence[Ledger], end: Position, first_entry: FirstEntry) -> None:
        """Number the entries of the ledgers up to `end`, the position after the last message.

        Entries in ledgers that are not in `ledgers` are ignored.
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
        """Return the position of the entry with this number, or `end` if no entry has this number."""
        if number >= self.size:
            return self.end
        index = bisect_right(self._numbers, number) - 1
        return Position(self._ids[index], number - self._numbers[index])

    def first(self, low: int, high: int, condition: Condition) -> Origin | None:
        """Return the first entry that meets a condition, from number `low` up to `high` (exclusive).

        This method raises the errors of `first_entry`.
        """
        high = min(high, self.size)
        return (
            self._first_entry(self.position(low), self.position(high), condition) if 0 <= low < high else None
        )

    def border(
        self, low: int, high: int, condition: Condition, is_after: Condition
    ) -> tuple[Origin | None, Origin | None]:
        """Find where `is_after` changes from false to true, among the entries that meet a condition.

        If entries were sent twice, `is_after` may change several times. Then the result describes any one of these
        changes.

        Args:
            low: The number of the first entry to search (inclusive).
            high: The number at which the search ends (exclusive).
            condition: A function that returns whether an entry is selected.
            is_after: A function that returns whether a selected entry is after the border.

        Returns:
            A tuple: the last selected entry before the border, and the first selected entry after the border. An entry
            that does not exist is None.

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
