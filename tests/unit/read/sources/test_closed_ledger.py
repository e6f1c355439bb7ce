"""A direct read returns every entry of its range, or fails."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.read.location import entry_range
from pyspark_pulsar.read.sources.closed_ledger import contiguous

LEDGER = Ledger(id=7, entries=10, size=1000, opened_ms=None, closed_ms=1)
PARTITION = TopicPartition(TopicName.parse("persistent://public/default/t"), -1)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (Position(7, 0), Position(7, 10), (0, 9)),
        (Position(7, 3, 5), Position(7, 4), (3, 3)),
        (Position(7, 3, 5), Position(7, 4, 1), (3, 4)),
        (Position(7, 3), Position(7, 3), (3, 2)),
        (EARLIEST, Position(8, 0), (0, 9)),
        (Position(6, 90), Position(7, 1000), (0, 9)),
    ],
)
def test_the_entries_of_a_range(start: Position, end: Position, expected: tuple[int, int]) -> None:
    assert entry_range(LEDGER, start, end) == expected


def source(*runs: list[tuple[int, int]]) -> Generator[EntryBatch, None, None]:
    for run in runs:
        batch = EntryBatch()
        for ledger, entry in run:
            batch.push(ledger, entry, b"")
        yield batch


def read(*runs: list[tuple[int, int]]) -> list[int]:
    return [len(batch) for batch in contiguous(source(*runs), PARTITION, LEDGER, (2, 6), "bookie")]


def test_a_complete_read_returns_every_entry() -> None:
    assert read([(7, 2), (7, 3)], [], [(7, 4)], [(7, 5), (7, 6)]) == [2, 1, 2]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], 2),
        ([[(7, 2), (7, 3)]], 4),
        ([[(7, 3)]], 2),
        ([[(7, 2), (7, 4)]], 2),
        ([[(7, 2)], [(7, 2)]], 3),
        ([[(8, 2)]], 2),
        ([[(7, 2), (7, 3), (7, 4), (7, 5), (7, 6), (7, 7)]], 2),
    ],
    ids=["nothing", "short", "late", "gap", "twice", "another ledger", "too much"],
)
def test_gaps_are_faults(runs: list[list[tuple[int, int]]], expected: int) -> None:
    with pytest.raises(LedgerUnavailable, match=f"ledger 7 of 10 entries.*bookie.*expected entry {expected}"):
        read(*runs)
