"""Splits by key: their number, their hash slots, and that each has the whole range."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.splits.key_ranges import SLOTS, split_by_key
from pyspark_pulsar.read.planning.splits.packing import PartitionRange
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange


def partition(index: int) -> TopicPartition:
    return TopicPartition.parse(f"persistent://public/default/t-partition-{index}")


def one_ledger(index: int, entries: int) -> PartitionRange:
    start, end = Position(7, 0), Position(7, entries)
    ledger_ranges = (LedgerRange(start, end, Ledger(7, entries, 100, None, None)),) if entries else ()
    return PartitionRange(partition(index), start, end, ledger_ranges)


def numbers(splits: list[Split]) -> dict[int, int]:
    found: dict[int, int] = {}
    for split in splits:
        found[split.partition.index] = found.get(split.partition.index, 0) + 1
    return found


def test_five_partitions_in_ten_splits_have_half_of_the_slots_each() -> None:
    splits = split_by_key([one_ledger(index, 50) for index in range(5)], 10)
    assert len(splits) == 10
    for index in range(5):
        own = [split for split in splits if split.partition == partition(index)]
        assert [split.slots for split in own] == [(0, SLOTS // 2), (SLOTS // 2, SLOTS)]
        assert {(split.start, split.end) for split in own} == {(Position(7, 0), Position(7, 50))}


def test_a_partition_with_more_entries_has_more_splits() -> None:
    splits = split_by_key([one_ledger(0, 10), one_ledger(1, 0), one_ledger(2, 70)], 10)
    assert numbers(splits) == {0: 2, 2: 8}


@pytest.mark.parametrize("least", [1, 3, 7, 100])
def test_the_splits_of_a_partition_cover_each_slot_once(least: int) -> None:
    splits = split_by_key([one_ledger(0, 3)], least)
    assert len(splits) == least
    if least == 1:
        assert splits[0].slots is None
        return
    borders = [split.slots for split in splits if split.slots]
    assert borders[0][0] == 0
    assert borders[-1][1] == SLOTS
    assert all(one[1] == other[0] for one, other in pairwise(borders))


def test_each_split_has_the_ranges_of_all_ledgers() -> None:
    closed, last = Ledger(7, 4, 40, None, 1), Ledger(9, 2, 20, 1, None)
    far = LedgerRange(Position(7, 1), Position(7, 4), closed, FromBookies(closed))
    near = LedgerRange(Position(9, 0), Position(9, 2), last)
    asked = PartitionRange(partition(0), far.start, near.end, (far, near))
    splits = split_by_key([asked], 2)
    assert [split.ranges for split in splits] == [
        (SplitRange(far.start, far.end, FromBookies(closed)), SplitRange(near.start, near.end, FromBroker(2)))
    ] * 2


def test_there_are_no_more_splits_than_slots() -> None:
    assert len(split_by_key([one_ledger(0, 3)], SLOTS + 10)) == SLOTS
