"""Packing of ranges into splits: small neighbors share a split, large ranges are cut. Driver only; no I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.tables.file_range import FileRange
from pyspark_pulsar.read.split import Split, SplitRange

_ROUNDS: Final = 40
_LEAST_WEIGHT: Final = 1e-12
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum size of a split and the minimum number of splits.

    Entries are never cut, so a plan may miss either limit.
    """

    max_bytes: int
    min_splits: int = 1
    max_records: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The range of one topic partition that is read. The ledger ranges are in order and not empty."""

    partition: TopicPartition
    start: Position
    end: Position
    ledger_ranges: tuple[LedgerRange | FileRange, ...]
    entry_records: float = 1.0
    """Mean number of messages per entry."""
    window: TimeWindow = ALL_TIMES
    from_earliest: bool = False
    """True if a chunked message whose first chunks were removed by retention is not a loss."""
    keys: frozenset[bytes] | None = None
    """The keys whose messages are read; None if all messages are read."""


def cut(ranges: Sequence[PartitionRange], limits: Limits) -> list[Split]:
    """Return splits that cover each range once, in order.

    Large ledgers are cut evenly, and small ledgers are joined.
    """
    entries = sum(
        ledger_range.entries for partition_range in ranges for ledger_range in partition_range.ledger_ranges
    )
    least = min(limits.min_splits, entries)
    capacity = 1.0
    if _number(ranges, limits, capacity) < least:
        capacity = _capacity_for(ranges, limits, least)
    return [
        split
        for partition_range in ranges
        for split in _splits(partition_range, _groups(partition_range, limits, capacity))
    ]


def split_without_cuts(ranges: Sequence[PartitionRange]) -> list[Split]:
    """Return one split for each partition range that is not empty."""
    return [
        split
        for partition_range in ranges
        if partition_range.ledger_ranges
        for split in _splits(partition_range, [_Group([*partition_range.ledger_ranges], 1)])
    ]


@dataclass(slots=True)
class _Group:
    """The ledger ranges of one split, or one ledger range that is cut into `parts` splits."""

    ledger_ranges: list[LedgerRange | FileRange]
    parts: int


def _capacity_for(ranges: Sequence[PartitionRange], limits: Limits, least: int) -> float:
    """Return the largest capacity (weight of a split) found for which there are at least `least` splits.

    With capacity 0, each entry is a split.
    """
    total = sum(
        ledger_range.entries * _entry_weight(ledger_range, partition_range.entry_records, limits)
        for partition_range in ranges
        for ledger_range in partition_range.ledger_ranges
    )
    enough, too_much = 0.0, min(1.0, total)
    for _ in range(_ROUNDS):
        middle = (enough + too_much) / 2
        number = _number(ranges, limits, middle)
        if number < least:
            too_much = middle
            continue
        enough = middle
        if number == least:
            break
    return enough


def _number(ranges: Sequence[PartitionRange], limits: Limits, capacity: float) -> int:
    return sum(
        group.parts for partition_range in ranges for group in _groups(partition_range, limits, capacity)
    )


def _groups(partition_range: PartitionRange, limits: Limits, capacity: float) -> list[_Group]:
    """Group neighbors whose total weight is at most `capacity`, and cut ranges that are heavier."""
    groups: list[_Group] = []
    room = 0.0
    for ledger_range in partition_range.ledger_ranges:
        one = _entry_weight(ledger_range, partition_range.entry_records, limits)
        weight = one * ledger_range.entries
        if groups and weight <= room:
            groups[-1].ledger_ranges.append(ledger_range)
            room -= weight
            continue
        parts = _parts_needed(ledger_range.entries, one, capacity)
        groups.append(_Group([ledger_range], parts))
        room = capacity - weight if parts == 1 else 0.0
    return groups


def _parts_needed(entries: int, one: float, capacity: float) -> int:
    """Return the minimum number of parts that keep the limits and have a mean weight of at most `capacity`."""
    most = max(1, math.floor(1 / one + _ROUNDING))
    share = entries if capacity <= 0 else min(entries, math.ceil(one * entries / capacity - _ROUNDING))
    return max(math.ceil(entries / most), share)


def _entry_weight(ledger_range: LedgerRange | FileRange, entry_records: float, limits: Limits) -> float:
    """Return the weight of an entry, as a fraction of the largest allowed split."""
    entry_records = ledger_range.entry_rows or entry_records
    by_bytes = ledger_range.entry_bytes / limits.max_bytes
    by_records = entry_records / limits.max_records if limits.max_records is not None else 0.0
    return max(by_bytes, by_records, _LEAST_WEIGHT)


def _splits(partition_range: PartitionRange, groups: Sequence[_Group]) -> list[Split]:
    """Return splits that together cover exactly the partition range, even if its ledgers do not reach its bounds."""
    wholes = [
        whole
        for group in groups
        for whole in (
            [group.ledger_ranges] if group.parts == 1 else _parts(group.ledger_ranges[0], group.parts)
        )
    ]
    return [
        Split(
            partition_range.partition,
            partition_range.start if index == 0 else whole[0].start,
            partition_range.end if index == len(wholes) - 1 else whole[-1].end,
            _split_ranges(whole),
            window=partition_range.window,
            from_earliest=partition_range.from_earliest,
            keys=partition_range.keys,
            size=_size(whole),
        )
        for index, whole in enumerate(wholes)
    ]


def _size(ledger_ranges: Sequence[LedgerRange | FileRange]) -> int | None:
    """Return the size in bytes, or None if the size of one of the ranges is unknown."""
    sizes = [ledger_range.entries * ledger_range.entry_bytes for ledger_range in ledger_ranges]
    return round(sum(sizes)) if all(sizes) else None


def _parts(ledger_range: LedgerRange | FileRange, parts: int) -> list[list[LedgerRange | FileRange]]:
    return [[part] for part in ledger_range.cut(parts)]


def _split_ranges(ledger_ranges: Sequence[LedgerRange | FileRange]) -> tuple[SplitRange, ...]:
    """Return the ranges of a split. Neighbors that one reader can read from the same location are joined."""
    ranges: list[SplitRange] = []
    for ledger_range in ledger_ranges:
        split_range = SplitRange(ledger_range.start, ledger_range.end, ledger_range.sized_location)
        joined = _joined(ranges[-1], split_range) if ranges else None
        if joined is not None:
            ranges[-1] = joined
        else:
            ranges.append(split_range)
    return tuple(ranges)


def _joined(split_range: SplitRange, following: SplitRange) -> SplitRange | None:
    location = split_range.location.joined(following.location, adjacent=split_range.end == following.start)
    return None if location is None else SplitRange(split_range.start, following.end, location)
