"""How many messages, and bytes, lie where in a topic partition: counted, not kept."""

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
    """A part of a range, from its start up to `end` (exclusive)."""

    end: Position
    records: int
    size: int
    """Stored bytes; of an entry that is cut, its messages' share."""


class Backlog:
    """What was counted of one topic partition, from `begin` up to `until`. Used by one thread at a time."""

    def __init__(self, begin: Position, published_from: int | None = None) -> None:
        """`published_from`: messages published before this time (Unix milliseconds) do not count."""
        self.begin = begin
        self.until = begin
        self.entries = 0
        """Counted since it was made."""
        self.records = 0
        self._kernel = _kernel.Backlog(published_from=published_from)

    def add(self, entries: EntryBatch) -> tuple[int, int]:
        """Count entries, which are empty afterwards; those that came before count for nothing. Returns their messages
        and bytes."""
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
        """The longest part of `start` to `end`, as far as it was counted, within both limits; with `at_least_one`, a
        first message whatever its size. It ends inside an entry where `records` asks for it, or where the first entry
        alone is larger than `size`.

        `end` where nothing that was counted is left before it, and counting has come as far.
        """
        reached, messages, nbytes = self._kernel.take(
            start.as_tuple(), end.as_tuple(), messages=records, nbytes=size, at_least_one=at_least_one
        )
        position = Position(*reached)
        if self.until >= end and self._is_behind_all(position, end):
            position = end
        return CountedRange(position, messages, nbytes)

    def _is_behind_all(self, position: Position, end: Position) -> bool:
        further, _, _ = self._kernel.take(position.as_tuple(), end.as_tuple())
        return further == position.as_tuple()
