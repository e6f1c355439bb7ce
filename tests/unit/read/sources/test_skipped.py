"""The received entries that may be used when ids between them are missing."""

from __future__ import annotations

import pytest

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.read.sources.skipped import cut_where_skipped

Id = tuple[int, int]


def batch(*ids: Id) -> EntryBatch:
    entries = EntryBatch()
    for ledger, entry in ids:
        entries.push(ledger, entry, b"")
    return entries


class Broker:
    """A broker with fixed answers, which counts the requests."""

    def __init__(self, stands: Position, *there: Id) -> None:
        self._position = stands
        self._there = there
        self.asked: list[Position] = []

    def cut(self, entries: EntryBatch, following: Position) -> bool:
        return cut_where_skipped(entries, following, self._cleared, self._first_after)

    def _cleared(self) -> Position:
        self.asked.append(EARLIEST)
        return self._position

    def _first_after(self, start: Position) -> Position | None:
        self.asked.append(start)
        there = (Position(*each) for each in self._there)
        return min((position for position in there if position >= start), default=None)


def test_without_missing_ids_no_request_is_sent() -> None:
    broker = Broker(Position(9, 9))
    for following in (EARLIEST, Position(1, 5), Position(1, 6), Position(1, 7)):
        assert not broker.cut(batch((1, 5), (1, 6)), following)
    assert broker.asked == []


def test_a_cursor_at_its_first_position_has_skipped_nothing() -> None:
    broker = Broker(Position(1, 0))
    entries = batch((1, 3), (1, 5), (2, 0))
    assert not broker.cut(entries, Position(1, 2))
    assert (len(entries), broker.asked) == (3, [EARLIEST])


def test_entries_before_the_skipped_ones_are_used() -> None:
    broker = Broker(Position(1, 90), (1, 7), (1, 8), (1, 91))
    entries = batch((1, 2), (1, 4), (1, 5), (1, 91), (1, 92))
    assert broker.cut(entries, Position(1, 2))
    # The check of the first gap, a marker, found no entry in it.
    assert broker.asked == [EARLIEST, Position(1, 3), Position(1, 6)]
    assert (entries.first, entries.last) == ((1, 2), (1, 5))


def test_no_entry_is_used_after_a_gap_at_the_beginning() -> None:
    broker = Broker(Position(1, 90), (1, 2))
    entries = batch((1, 91))
    assert broker.cut(entries, Position(1, 2))
    assert len(entries) == 0


@pytest.mark.parametrize("there", [[], [(3, 0)], [(3, 4)]])
def test_removed_entries_were_not_skipped(there: list[Id]) -> None:
    broker = Broker(Position(3, 0), *there)
    entries = batch((1, 9), (3, 0))
    assert not broker.cut(entries, Position(1, 9))
    assert (len(entries), broker.asked) == (2, [EARLIEST, Position(1, 10)])


def test_many_gaps_are_read_again_without_a_check() -> None:
    ids = [(1, 2 * number) for number in range(40)]
    broker = Broker(Position(9, 0), *ids)
    entries = batch(*ids)
    assert broker.cut(entries, Position(1, 0))
    assert len(broker.asked) == 9
    assert (entries.first, entries.last) == ((1, 0), (1, 16))
