"""How much of what is there one micro-batch takes, shared among topic partitions. Driver only; no I/O of its own.

The limits hold exactly, since how far a share reaches is asked of somebody who counts messages (`Measure`). What
decides the shares, how much waits in each topic partition, may be an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark_pulsar.codec.backlog import UNLIMITED, Counted
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.planning.shares import shares
from pyspark_pulsar.topic import TopicPartition


@dataclass(frozen=True, slots=True)
class Allowance:
    """So much may be taken; `UNLIMITED` is no limit."""

    records: int = UNLIMITED
    size: int = UNLIMITED
    """Stored bytes."""

    @property
    def is_used_up(self) -> bool:
        return self.records <= 0 or self.size <= 0

    def without(self, taken: Counted) -> Allowance:
        """What is left behind `taken`."""
        return Allowance(_less(self.records, taken.records), _less(self.size, taken.size))


@dataclass(frozen=True, slots=True)
class Demand:
    """What waits in one topic partition, from `start` (inclusive) to `end` (exclusive)."""

    partition: TopicPartition
    start: Position
    end: Position
    weight: float = 1.0
    """About how many messages that is, by the measure of the others."""


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """How far `share` reaches from `start`, at most to `end`: a question."""

    partition: TopicPartition
    start: Position
    end: Position
    share: Allowance
    at_least_one: bool = False
    """Something, one message if there is one, is taken whatever its size."""


Measure = Callable[[Sequence[MeasureRequest]], Sequence[Counted]]
"""The longest part that each share allows; ends at `MeasureRequest.end` where nothing is left before it."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a micro-batch takes: of each topic partition that was asked for, up to where."""

    ends: Mapping[TopicPartition, Position]
    records: int
    size: int


def admit(demands: Sequence[Demand], allowance: Allowance, measure: Measure, turn: int = 0) -> Admitted:
    """Take no more than `allowance`, and all of it while more than that waits; bytes as far as whole entries allow.

    Something is taken when anything waits, even when its first message is larger than the limit of bytes. `turn`: a
    number that differs from micro-batch to micro-batch, so that of more topic partitions than messages are allowed,
    and of those whose messages are larger than their share, each has its turn.
    """
    ends = {each.partition: each.start for each in demands}
    hungry = _rotated([each for each in demands if each.start < each.end], turn)
    left = allowance
    records = size = 0
    asks = _first_of_all(hungry, allowance)
    while hungry and not left.is_used_up:
        asks = asks or share_out(hungry, ends, left)
        moved = False
        for ask, part in zip(asks, measure(asks), strict=True):
            moved = moved or part.end != ask.start
            ends[ask.partition] = part.end
            left = left.without(part)
            records, size = records + part.records, size + part.size
        if not moved:
            break
        hungry, asks = [each for each in hungry if ends[each.partition] < each.end], []
    return Admitted(ends, records, size)


def share_out(
    hungry: Sequence[Demand], ends: Mapping[TopicPartition, Position], left: Allowance
) -> list[MeasureRequest]:
    """What each of them may take of `left`, from `ends` on; those that may take nothing are not asked."""
    weights = [each.weight for each in hungry]
    records = _shares_of(left.records, weights)
    sizes = _shares_of(left.size, weights)
    return [
        MeasureRequest(
            each.partition, ends[each.partition], each.end, Allowance(records[index], sizes[index])
        )
        for index, each in enumerate(hungry)
        if records[index] > 0 and sizes[index] > 0
    ]


def _shares_of(total: int, weights: Sequence[float]) -> list[int]:
    return [UNLIMITED] * len(weights) if total >= UNLIMITED else shares(total, weights)


def _first_of_all(hungry: Sequence[Demand], allowance: Allowance) -> list[MeasureRequest]:
    """A message of the topic partition whose turn it is, which could be larger than every share."""
    if allowance.size >= UNLIMITED:
        return []
    return [
        MeasureRequest(each.partition, each.start, each.end, Allowance(1, allowance.size), at_least_one=True)
        for each in hungry[:1]
    ]


def _rotated(demands: list[Demand], turn: int) -> list[Demand]:
    first = turn % len(demands) if demands else 0
    return demands[first:] + demands[:first]


def _less(total: int, taken: int) -> int:
    return total if total >= UNLIMITED else total - taken
