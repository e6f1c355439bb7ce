"""The ends of micro-batches: delays by the clock, upper limits, and shares by weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.codec.backlog import CountedRange
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.microbatch.admission.allowance import MeasureRequest
from pyspark_pulsar.read.microbatch.admission.backlog_counter import BacklogCounter, PublishedFrom
from pyspark_pulsar.read.microbatch.admission.limits import MicroBatches
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers

A = TopicPartition.parse("persistent://public/default/t-partition-0")
B = TopicPartition.parse("persistent://public/default/t-partition-1")
NAMES = {"service.url": "pulsar://h:6650", "topic": "t"}


def options(**given: Any) -> ReadOptions:
    return parse_options(ReadOptions, NAMES | {key: str(value) for key, value in given.items()})


def offset(**positions: Position) -> StreamOffset:
    return StreamOffset({{"a": A, "b": B}[name]: position for name, position in positions.items()})


class Unbatched(BacklogCounter):
    """A counter for ledger 7, whose entries have one message of ten bytes each. It sends no request."""

    def __init__(self, options: ReadOptions, published_from: PublishedFrom) -> None:
        super().__init__(options, published_from)
        self.since = published_from

    def measure(self, requests: Sequence[MeasureRequest]) -> list[CountedRange]:
        found = []
        for request in requests:
            first = max(0, request.start.entry)
            number = min(request.share.records, request.share.size // 10, request.end.entry - first)
            found.append(
                CountedRange(Position(7, first + number) if number else request.start, number, 10 * number)
            )
        return found

    def count_ahead(self, requests: Sequence[MeasureRequest]) -> None:
        """Do nothing, because everything is already counted."""


class KnownLedgers:
    """The ledgers of A. With a time, its messages begin at entry 4."""

    def __init__(self, ledgers: TopicLedgers | None = None) -> None:
        self.ledgers = ledgers

    def known_ledgers(self, partition: TopicPartition) -> TopicLedgers | None:
        return self.ledgers if partition == A else None

    def first_in_time(self, asked: Iterable[RangeRequest]) -> dict[TopicPartition, Position]:
        return {each.partition: Position(7, 4) for each in asked if each.window.published_from == 77}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def micro_batches(given: ReadOptions, ledgers: TopicLedgers | None = None) -> tuple[MicroBatches, Clock]:
    clock = Clock()
    return MicroBatches(given, KnownLedgers(ledgers), clock, Unbatched), clock


def test_without_limits_all_messages_are_admitted() -> None:
    batches, _ = micro_batches(options())
    reached = offset(a=Position(7, 50))
    assert batches.admitted(offset(a=Position(7, 3)), reached, waits=True) == reached


def test_a_limit_is_shared_by_backlog_and_kept() -> None:
    batches, _ = micro_batches(options(maxRecordsPerTrigger=22))
    former = offset(a=Position(7, 0), b=Position(7, 0))
    reached = offset(a=Position(7, 25), b=Position(7, 100))
    assert batches.admitted(former, reached, waits=True) == offset(a=Position(7, 5), b=Position(7, 17))


def test_the_unused_share_of_a_partition_goes_to_the_others() -> None:
    known = TopicLedgers((Ledger(5, 900, 900, None, 1), Ledger(7, 2, 2, 1, None)))
    batches, _ = micro_batches(options(maxRecordsPerTrigger=20), known)
    # The ledgers show many messages in A, which are removed by now.
    former = offset(a=Position(5, 0), b=Position(7, 0))
    reached = offset(a=Position(7, 2), b=Position(7, 90))
    assert batches.admitted(former, reached, waits=True) == offset(a=Position(7, 2), b=Position(7, 18))


def test_partitions_take_turns_when_there_are_more_than_messages_allowed() -> None:
    batches, _ = micro_batches(options(maxRecordsPerTrigger=1))
    former, reached = offset(a=EARLIEST, b=EARLIEST), offset(a=Position(7, 9), b=Position(7, 9))
    for _ in range(4):
        former = batches.admitted(former, reached, waits=True)
    assert former == offset(a=Position(7, 2), b=Position(7, 2))


def test_the_first_micro_batch_keeps_its_starts() -> None:
    batches, _ = micro_batches(options(maxRecordsPerTrigger=5))
    reached = StreamOffset({A: Position(7, 9)}, {A: Position(7, 2)})
    found = batches.admitted(StreamOffset(start=FROM_EARLIEST), reached, waits=False)
    assert found == StreamOffset({A: Position(7, 7)}, {A: Position(7, 2)})


def test_too_few_messages_wait_until_the_delay_is_over() -> None:
    batches, clock = micro_batches(options(minOffsetsPerTrigger=10, maxTriggerDelay="30s"))
    former, few, many = offset(a=Position(7, 0)), offset(a=Position(7, 9)), offset(a=Position(7, 10))
    assert batches.admitted(former, few, waits=True) == few  # The first micro-batch of a start.
    clock.now += 29
    assert batches.admitted(former, few, waits=True).goes_no_further_than(former)
    assert batches.admitted(former, many, waits=True) == many
    clock.now += 29
    assert batches.admitted(former, few, waits=True).goes_no_further_than(former)
    clock.now += 1
    assert batches.admitted(former, few, waits=True) == few


def test_a_trigger_without_messages_begins_no_delay() -> None:
    batches, clock = micro_batches(options(minOffsetsPerTrigger=10, maxTriggerDelay="30s"))
    former = offset(a=Position(7, 9))
    assert batches.admitted(former, former, waits=True) == former
    clock.now += 1
    assert batches.admitted(former, offset(a=Position(7, 10)), waits=True) == offset(a=Position(7, 10))


def test_available_now_does_not_wait() -> None:
    batches, clock = micro_batches(options(minOffsetsPerTrigger=10, maxRecordsPerTrigger=20))
    former, few = offset(a=Position(7, 0)), offset(a=Position(7, 3))
    for _ in range(3):
        assert batches.admitted(former, few, waits=False) == few
        clock.now += 1


def test_the_counter_receives_the_time_bound() -> None:
    made: list[Unbatched] = []

    def make(given: ReadOptions, published_from: PublishedFrom) -> Unbatched:
        made.append(Unbatched(given, published_from))
        return made[-1]

    batches = MicroBatches(options(maxRecordsPerTrigger=5), KnownLedgers(), Clock(), make)
    time = TimeBound(all=77)
    former = StreamOffset(start=FROM_EARLIEST, published_from=time)
    reached = StreamOffset({A: Position(7, 20)}, {A: EARLIEST}, published_from=time)
    found = batches.admitted(former, reached, waits=True)
    # Messages in ledgers before the time are not counted at all.
    assert found == StreamOffset({A: Position(7, 9)}, {A: EARLIEST}, published_from=time)
    further = replace(reached, starts={})
    assert batches.admitted(found, further, waits=True).positions == {A: Position(7, 14)}
    assert made[0].since(A) == 77
    assert len(made) == 1


def test_options_of_triggers_are_parsed() -> None:
    given = options(
        maxOffsetsPerTrigger=5, minRecordsPerTrigger=5, maxTriggerDelay="2 m", maxBytesPerTrigger=9
    )
    assert (given.max_records_per_trigger, given.min_offsets_per_trigger) == (5, 5)
    assert (given.max_trigger_delay_ms, given.max_bytes_per_trigger) == (120_000, 9)
    assert options().max_trigger_delay_ms == 900_000
    assert options(maxTriggerDelay=250).max_trigger_delay_ms == 250


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"maxTriggerDelay": "soon"},
            "expected milliseconds, or a duration with the unit ms, s, m or min, h, or d, such as 30s",
        ),
        ({"maxRecordsPerTrigger": 0}, "a whole number from 1"),
        ({"minOffsetsPerTrigger": 6, "maxRecordsPerTrigger": 5}, "at most maxRecordsPerTrigger"),
        ({"splitBy": "hash"}, "one of position, key"),
    ],
)
def test_invalid_options_of_triggers_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        options(**given)
