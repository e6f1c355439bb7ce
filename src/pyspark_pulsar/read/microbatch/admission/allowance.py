"""The part of the available messages that one micro-batch reads, shared among topic partitions. Driver only, no I/O.

A micro-batch has an allowance: a number of messages (`maxRecordsPerTrigger`) and of stored bytes
(`maxBytesPerTrigger`). Each topic partition has a demand: the messages from its start to its end. `admit` finds an end
for each demand, so that the admitted messages never exceed the allowance. Positions do not determine the number of
messages between them. So `admit` works in rounds, and a function of type `Measure` counts the messages (in practice,
the method of `BacklogCounter`):

    round    unmet demands        share of each demand                rounds stop when
    first    the one whose turn   one message of any size             (only with a limit of bytes)
    later    all                  a part of the remaining allowance,  no demand is unmet, no allowance
                                  by weight                           remains, or no demand has moved

In each later round, every unmet demand gets a share of the remaining allowance. The counter returns how far that share
reaches from the demand's position: to the share's limit, or to the end of the demand. The unused part of a share
remains for the next round. This is correct:

- *The limits are kept.* The shares of a round add up to the remaining allowance, and no part exceeds its share. So
  after each round, the admitted messages are at most the allowance. The first round is the only exception: a message
  larger than the limit of bytes is admitted alone, because no micro-batch could read it otherwise. Then no allowance
  remains, and no further round follows.
- *Each message is read once.* A part begins where the previous part of its partition ended, and a micro-batch begins
  where the previous micro-batch ended.
- *The allowance is used.* A share of one message or more moves its demand, unless the next entry has more bytes than
  the share. So without a limit of bytes, the rounds end only when the allowance is used up or no demand is unmet. With
  a limit of bytes, the remaining allowance may be smaller than the next entry.
- *The rounds end.* A round in which no demand moves is the last, and the number of entries is finite.
- *No partition starves.* `turn` grows by one with each micro-batch, and rotates the demands. The first demands get the
  shares of less than one message, and the first demand gets the first round. So each partition is regularly the first
  one.

Weights determine only the shares, never the limits. So weights may be estimates (`limits`).
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
    """The messages and bytes that may be admitted; `UNLIMITED` means no limit."""

    records: int = UNLIMITED
    size: int = UNLIMITED
    """The number of stored bytes."""

    @property
    def is_used_up(self) -> bool:
        return self.records <= 0 or self.size <= 0

    def without(self, taken: CountedRange) -> Allowance:
        """Return the allowance that remains after `taken`."""
        return Allowance(_less(self.records, taken.records), _less(self.size, taken.size))


@dataclass(frozen=True, slots=True)
class Demand:
    """The unread messages of one topic partition, from `start` (inclusive) to `end` (exclusive)."""

    partition: TopicPartition
    start: Position
    end: Position
    weight: float = 1.0
    """Estimated number of messages, in the same unit as the weights of the other demands."""


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """A request to measure how far `share` reaches from `start` (inclusive), up to `end` (exclusive)."""

    partition: TopicPartition
    start: Position
    end: Position
    share: Allowance
    at_least_one: bool = False
    """True if one message is admitted even if it is larger than the share."""


Measure = Callable[[Sequence[MeasureRequest]], Sequence[CountedRange]]
"""A function that returns, for each request in order, the longest part that its share allows.

No two requests are for the same topic partition. A part ends at `MeasureRequest.end` if no message remains before that
end."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The content of a micro-batch: the end (exclusive) of each topic partition that has a demand."""

    ends: Mapping[TopicPartition, Position]
    records: int
    size: int
    """The number of stored bytes."""

    def unmet(self, demands: Sequence[Demand]) -> list[Demand]:
        """Return the demands that are not completely admitted."""
        return [demand for demand in demands if self.ends[demand.partition] < demand.end]


def admit(demands: Sequence[Demand], allowance: Allowance, measure: Measure, turn: int = 0) -> Admitted:
    """Return the end of each demand in the micro-batch; the messages before the ends are at most `allowance`.

    The allowance is used up if enough messages are available. Bytes may remain if the next entry does not fit. At least
    one message is admitted if any is available, even if it is larger than the limit of bytes.

    Args:
        demands: The unread parts of the topic partitions.
        allowance: The limits of the micro-batch.
        measure: The function that counts messages.
        turn: A number that grows by one with each micro-batch.

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
    """Return one request for each unmet demand, from its position in `ends`, with its share of `left`.

    A demand with an empty share gets no request.
    """
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
    """Return a request for one message of the first demand.

    With a limit of bytes, the message may exceed every share.
    """
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
