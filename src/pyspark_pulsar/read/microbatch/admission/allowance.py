"""How much of what is there one micro-batch takes, shared among topic partitions. Driver only; no I/O of its own.

A micro-batch has an allowance: so many messages (`maxRecordsPerTrigger`) and so many stored bytes
(`maxBytesPerTrigger`). Each topic partition has a demand: what waits there from its start to its end. `admit` finds an
end for each, such that the allowance holds exactly. Positions do not say how many messages lie between them, so it
works in rounds with somebody who counts (`Measure`, in practice `BacklogCounter`):

    round    unmet demands      get                                 when
    first    the one in turn    one message, whatever its size      only with a limit of bytes
    others   all                shares of what is left, by weight   until nothing waits, nothing is left or none moves

In each round every unmet demand gets a share of the allowance that is left, and the counter says how far that share
reaches from where the demand stands: to the share's limit, or to the end of the demand. What a demand does not need is
left for the next round. Why this is right:

- *Within the limits.* The shares of a round sum up to what is left, and no part is larger than its share. So after each
  round what is taken is at most the allowance. The one exception is the first round: a message that is larger than the
  limit of bytes is taken alone, since it could never be read otherwise; nothing is left then, and no round follows.
- *Each message once.* A part begins where the former part of its partition ended, and a micro-batch begins where the
  last one ended.
- *All that is allowed.* A share of one message or more moves its demand on, unless the next entry has more bytes than
  the share. So without a limit of bytes the rounds end only when the allowance is used up or nothing waits. With one,
  the rest is less than what whole entries need.
- *It ends.* A round in which no demand moves is the last, and there are finitely many entries.
- *Nobody starves.* The demands are rotated by `turn`, which grows by one with each micro-batch. Shares of less than one
  message go to the first ones, and the first round serves the first one, so each partition comes first in its turn.

Weights decide only the shares, never the limits. So they may be estimates (`limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark_pulsar.codec.backlog import UNLIMITED, CountedRange
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.splits.shares import shares


@dataclass(frozen=True, slots=True)
class Allowance:
    """So much may be taken; `UNLIMITED` is no limit."""

    records: int = UNLIMITED
    size: int = UNLIMITED
    """Stored bytes."""

    @property
    def is_used_up(self) -> bool:
        return self.records <= 0 or self.size <= 0

    def without(self, taken: CountedRange) -> Allowance:
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
    """To measure how far `share` reaches from `start` (inclusive), at most to `end` (exclusive)."""

    partition: TopicPartition
    start: Position
    end: Position
    share: Allowance
    at_least_one: bool = False
    """Something, one message if there is one, is taken whatever its size."""


Measure = Callable[[Sequence[MeasureRequest]], Sequence[CountedRange]]
"""The longest part that each share allows, in the order of the requests, of which each is of another topic partition.
It ends at `MeasureRequest.end` where nothing is left before it."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a micro-batch takes: of each topic partition with a demand, up to where (exclusive)."""

    ends: Mapping[TopicPartition, Position]
    records: int
    size: int
    """Stored bytes."""

    def unmet(self, demands: Sequence[Demand]) -> list[Demand]:
        """The demands of which something is left for later micro-batches."""
        return [demand for demand in demands if self.ends[demand.partition] < demand.end]


def admit(demands: Sequence[Demand], allowance: Allowance, measure: Measure, turn: int = 0) -> Admitted:
    """Take no more than `allowance`, and all of it while more than that waits; bytes as far as whole entries allow.

    Something is taken when anything waits, even when its first message is larger than the limit of bytes. `turn`: a
    number that differs from micro-batch to micro-batch.
    """
    ends = {demand.partition: demand.start for demand in demands}
    unmet = _rotated([demand for demand in demands if demand.start < demand.end], turn)
    left = allowance
    records = size = 0
    requests = _first_message(unmet, allowance)
    while unmet and not left.is_used_up:
        requests = requests or share_out(unmet, ends, left)
        moved = False
        for request, part in zip(requests, measure(requests), strict=True):
            moved = moved or part.end != request.start
            ends[request.partition] = part.end
            left = left.without(part)
            records, size = records + part.records, size + part.size
        if not moved:
            break
        unmet, requests = [demand for demand in unmet if ends[demand.partition] < demand.end], []
    return Admitted(ends, records, size)


def share_out(
    unmet: Sequence[Demand], ends: Mapping[TopicPartition, Position], left: Allowance
) -> list[MeasureRequest]:
    """What each of them may take of `left`, from `ends` on; there is no request for those that may take nothing."""
    weights = [demand.weight for demand in unmet]
    records = _shares_of(left.records, weights)
    sizes = _shares_of(left.size, weights)
    return [
        MeasureRequest(
            demand.partition, ends[demand.partition], demand.end, Allowance(records[index], sizes[index])
        )
        for index, demand in enumerate(unmet)
        if records[index] > 0 and sizes[index] > 0
    ]


def _shares_of(total: int, weights: Sequence[float]) -> list[int]:
    return [UNLIMITED] * len(weights) if total >= UNLIMITED else shares(total, weights)


def _first_message(unmet: Sequence[Demand], allowance: Allowance) -> list[MeasureRequest]:
    """A message of the topic partition whose turn it is, which could be larger than every share."""
    if allowance.size >= UNLIMITED:
        return []
    return [
        MeasureRequest(
            demand.partition, demand.start, demand.end, Allowance(1, allowance.size), at_least_one=True
        )
        for demand in unmet[:1]
    ]


def _rotated(demands: list[Demand], turn: int) -> list[Demand]:
    first = turn % len(demands) if demands else 0
    return demands[first:] + demands[:first]


def _less(total: int, taken: int) -> int:
    return total if total >= UNLIMITED else total - taken
