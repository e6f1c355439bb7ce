"""From stretches to splits: small neighbours together, large ones apart. Driver only; no I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.position import Position
from pyspark_pulsar.read.bounds.timestamps import WHOLE, Window
from pyspark_pulsar.read.planning.ledger_range import LedgerRange
from pyspark_pulsar.read.split import FromBroker, Location, Split, SplitRange
from pyspark_pulsar.topic import TopicPartition

_ROUNDS: Final = 40
_LEAST_WEIGHT: Final = 1e-12
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Limits:
    """How large splits may be, as far as whole entries allow, and how many there must be, likewise."""

    max_bytes: int
    min_splits: int = 1
    max_records: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """What is to be read of one topic partition: its stretches in order, not empty."""

    partition: TopicPartition
    start: Position
    end: Position
    stretches: tuple[LedgerRange, ...]
    entry_records: float = 1.0
    """Messages in an entry, on average."""
    window: Window = WHOLE
    from_earliest: bool = False
    """Whether messages of which retention has removed the first chunks are no loss."""
    keys: frozenset[bytes] | None = None
    """Of these messages, only those with one of these keys."""


def cut(ranges: Sequence[PartitionRange], limits: Limits) -> list[Split]:
    """Splits that cover each range once, in order; a large ledger is cut into even parts, small ones go together."""
    least = min(limits.min_splits, sum(stretch.entries for each in ranges for stretch in each.stretches))
    capacity = 1.0
    if _number(ranges, limits, capacity) < least:
        capacity = _capacity_for(ranges, limits, least)
    return [split for each in ranges for split in _splits(each, _groups(each, limits, capacity))]


def uncut(ranges: Sequence[PartitionRange]) -> list[Split]:
    """A split for each range that has stretches."""
    return [
        split for each in ranges if each.stretches for split in _splits(each, [_Group([*each.stretches], 1)])
    ]


@dataclass(slots=True)
class _Group:
    """Stretches of one split; or one stretch of `parts` splits."""

    stretches: list[LedgerRange]
    parts: int


def _capacity_for(ranges: Sequence[PartitionRange], limits: Limits, least: int) -> float:
    """The largest found that gives at least so many splits: with none, each entry is one."""
    total = sum(
        stretch.entries * _entry_weight(stretch, each.entry_records, limits)
        for each in ranges
        for stretch in each.stretches
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
    return sum(group.parts for each in ranges for group in _groups(each, limits, capacity))


def _groups(each: PartitionRange, limits: Limits, capacity: float) -> list[_Group]:
    """Neighbours whose weights together are at most `capacity`; what is heavier is cut."""
    groups: list[_Group] = []
    room = 0.0
    for stretch in each.stretches:
        one = _entry_weight(stretch, each.entry_records, limits)
        weight = one * stretch.entries
        if groups and weight <= room:
            groups[-1].stretches.append(stretch)
            room -= weight
            continue
        parts = _parts_needed(stretch.entries, one, capacity)
        groups.append(_Group([stretch], parts))
        room = capacity - weight if parts == 1 else 0.0
    return groups


def _parts_needed(entries: int, one: float, capacity: float) -> int:
    """So many that each keeps the limits, and that on average each weighs no more than `capacity`."""
    most = max(1, math.floor(1 / one + _ROUNDING))
    share = entries if capacity <= 0 else min(entries, math.ceil(one * entries / capacity - _ROUNDING))
    return max(math.ceil(entries / most), share)


def _entry_weight(stretch: LedgerRange, entry_records: float, limits: Limits) -> float:
    """An entry's part of the largest split."""
    by_bytes = stretch.entry_bytes / limits.max_bytes
    by_records = entry_records / limits.max_records if limits.max_records is not None else 0.0
    return max(by_bytes, by_records, _LEAST_WEIGHT)


def _splits(each: PartitionRange, groups: Sequence[_Group]) -> list[Split]:
    """The first begins where the range does, and the last ends there, whatever ledgers hold."""
    wholes = [
        whole
        for group in groups
        for whole in ([group.stretches] if group.parts == 1 else _parts(group.stretches[0], group.parts))
    ]
    return [
        Split(
            each.partition,
            each.start if index == 0 else whole[0].start,
            each.end if index == len(wholes) - 1 else whole[-1].end,
            _pieces(whole),
            published_from=each.window.from_ms,
            published_before=each.window.before_ms,
            event_before=each.window.event_before_ms,
            from_earliest=each.from_earliest,
            keys=each.keys,
        )
        for index, whole in enumerate(wholes)
    ]


def _parts(stretch: LedgerRange, parts: int) -> list[list[LedgerRange]]:
    return [[part] for part in stretch.cut(parts)]


def _pieces(whole: Sequence[LedgerRange]) -> tuple[SplitRange, ...]:
    """What comes from one place one after the other comes in one go."""
    pieces: list[SplitRange] = []
    for stretch in whole:
        piece = SplitRange(stretch.start, stretch.end, _location(stretch))
        if pieces and _goes_on(pieces[-1], stretch):
            piece = SplitRange(pieces[-1].start, stretch.end, _together(pieces.pop().location, piece.location))
        pieces.append(piece)
    return tuple(pieces)


def _location(stretch: LedgerRange) -> Location:
    if isinstance(stretch.location, FromBroker) and stretch.ledger is not None and not stretch.is_compacted:
        return FromBroker(stretch.entries)
    return stretch.location


def _together(one: Location, other: Location) -> Location:
    """Of two pieces that come in one go."""
    if not isinstance(one, FromBroker) or not isinstance(other, FromBroker):
        return one
    known = one.entries is not None and other.entries is not None
    return FromBroker((one.entries or 0) + (other.entries or 0) if known else None)


def _goes_on(piece: SplitRange, stretch: LedgerRange) -> bool:
    """The broker reads over the ends of ledgers, others in one ledger."""
    if isinstance(piece.location, FromBroker):
        return isinstance(stretch.location, FromBroker)
    return piece.location is stretch.location and piece.end == stretch.start
