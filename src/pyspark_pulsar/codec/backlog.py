"""Counters of the messages and bytes of a topic partition. The counters store no entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark_pulsar import _kernel
from pyspark_pulsar.model.position import Position, after_entry

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import EntryBatch

UNLIMITED: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CountedRange:
    """The number of messages and bytes in the first part of a range. The part ends at `end` (exclusive)."""

    end: Position
    records: int
    size: int
    """Stored bytes. The bytes of an entry are divided equally among its messages."""


class Backlog:
    """Counters for one topic partition, from `begin` (inclusive) to `until` (exclusive). Use one thread at a time."""

    def __init__(self, begin: Position, published_from: int | None = None) -> None:
        """Create an empty backlog.

        Args:
            begin: The position from which entries are counted.
            published_from: The first publish time to count, inclusive, in Unix milliseconds. None counts all messages.

        """
        self.begin = begin
        self.until = begin
        self.entries = 0
        """Number of entries counted since the backlog was created."""
        self.records = 0
        self._kernel = _kernel.Backlog(published_from=published_from)

    def add(self, entries: EntryBatch) -> tuple[int, int]:
        """Count entries, and return the number of messages and the number of bytes in the counted entries.

        The call empties `entries`. Entries at or before the last counted entry are ignored.
        """
        number, last = len(entries), entries.last
        if last is None:
            return 0, 0
        self.until = max(self.until, after_entry(*last))
        records, size = self._kernel.add(entries)
        self.entries += number
        self.records += records
        return records, size

    def drop_before(self, position: Position) -> None:
        self._kernel.drop_before(position.as_tuple())
        self.begin = max(self.begin, position)

    def take(
        self,
        start: Position,
        end: Position,
        *,
        records: int = UNLIMITED,
        size: int = UNLIMITED,
        at_least_one: bool = False,
    ) -> CountedRange:
        """Return the longest slice of the counted messages from `start` to `end` (exclusive) within both limits.

        The slice ends inside an entry only if the limit `records` is reached inside this entry, or if the first entry
        alone exceeds `size`. With `at_least_one`, the slice contains the first message even if the message is larger
        than `size`. If all entries before `end` were counted, and no message is left between the slice and `end`, the
        slice ends at `end`.
        """
        reached, messages, nbytes = self._kernel.take(
            start.as_tuple(), end.as_tuple(), messages=records, nbytes=size, at_least_one=at_least_one
        )
        position = Position(*reached)
        if self.until >= end and self._is_empty(position, end):
            position = end
        return CountedRange(position, messages, nbytes)

    def _is_empty(self, position: Position, end: Position) -> bool:
        further, _, _ = self._kernel.take(position.as_tuple(), end.as_tuple())
        return further == position.as_tuple()
