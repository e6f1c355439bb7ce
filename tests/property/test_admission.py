"""Micro-batches that read each message once and keep to the limits, whatever is in topic partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings, strategies as st

from pyspark_pulsar.codec.backlog import UNLIMITED, CountedRange
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.microbatch.admission.allowance import (
    Admitted,
    Allowance,
    Demand,
    MeasureRequest,
    admit,
    shares,
)

NAMES = [TopicPartition.parse(f"persistent://public/default/t-partition-{index}") for index in range(4)]


@dataclass(frozen=True)
class Entry:
    place: Position
    messages: int
    size: int


Topics = dict[TopicPartition, list[Entry]]


@st.composite
def topics(draw: st.DrawFn) -> Topics:
    """Unbatched entries, batches, chunks without a message; over some ledgers, with gaps in both ids."""
    found: Topics = {}
    for name in NAMES[: draw(st.integers(1, 4))]:
        places = sorted(draw(st.sets(st.tuples(st.integers(3, 5), st.integers(0, 9)), max_size=9)))
        found[name] = [
            Entry(
                Position(*place),
                draw(st.sampled_from([0, 1, 1, 2, 7, 30])),
                draw(st.sampled_from([1, 40, 400])),
            )
            for place in places
        ]
    return found


def end_of(entries: Sequence[Entry]) -> Position:
    last = entries[-1].place if entries else None
    return EARLIEST if last is None else Position(last.ledger, last.entry + 1)


class Counting:
    """Count as `BacklogCounter` does, over entries that are known from the beginning."""

    def __init__(self, topics: Topics) -> None:
        self.topics = topics

    def measure(self, requests: Sequence[MeasureRequest]) -> list[CountedRange]:
        return [self.one(request) for request in requests]

    def one(self, request: MeasureRequest) -> CountedRange:
        reached, records, size = request.start, 0, 0
        must = request.at_least_one
        for entry in self.topics[request.partition]:
            place = entry.place
            if (place.ledger, place.entry) < (
                request.start.ledger,
                request.start.entry,
            ) or place >= request.end:
                continue
            first = (
                request.start.batch_index
                if place == Position(request.start.ledger, request.start.entry)
                else 0
            )
            left = Allowance(request.share.records - records, max(0, request.share.size - size))
            number = fitting(entry, entry.messages - first, left, is_first=not records)
            if must:
                number = max(number or 0, min(1, entry.messages))
            must = False
            if number is None:
                return CountedRange(reached, records, size)
            records, size = records + number, size + part(entry, number)
            if number < entry.messages - first:
                return CountedRange(Position(place.ledger, place.entry, first + number), records, size)
            reached = min(request.end, Position(place.ledger, place.entry + 1))
        return CountedRange(request.end, records, size)


def fitting(entry: Entry, messages: int, left: Allowance, *, is_first: bool) -> int | None:
    if entry.messages == 0:
        return 0 if left.records > 0 and entry.size <= left.size else None
    number = min(messages, left.records)
    if part(entry, number) > left.size:
        number = min(number, left.size * entry.messages // entry.size) if is_first else 0
    return number or None


def part(entry: Entry, messages: int) -> int:
    return entry.size if not entry.messages else -(-entry.size * messages // entry.messages)


def messages_between(entries: Sequence[Entry], start: Position, end: Position) -> list[Position]:
    places = [
        Position(entry.place.ledger, entry.place.entry, index)
        for entry in entries
        for index in range(entry.messages)
    ]
    return [place for place in places if start <= place < end]


allowances = st.builds(
    Allowance,
    records=st.one_of(st.just(UNLIMITED), st.integers(1, 60)),
    size=st.one_of(st.just(UNLIMITED), st.integers(1, 900)),
)
weights = st.dictionaries(st.sampled_from(NAMES), st.floats(0, 1e9), min_size=4, max_size=4)


@settings(deadline=None)
@given(topics=topics(), allowance=allowances, weights=weights)
def test_micro_batches_are_the_backlog_once_and_in_the_limits(
    topics: Topics, allowance: Allowance, weights: dict[TopicPartition, float]
) -> None:
    counting = Counting(topics)
    starts = dict.fromkeys(topics, EARLIEST)
    ends = {name: end_of(entries) for name, entries in topics.items()}
    read: dict[TopicPartition, list[Position]] = {name: [] for name in topics}
    for turn in range(10_000):
        if starts == ends:
            break
        demands = [Demand(name, starts[name], ends[name], weights.get(name, 1.0)) for name in topics]
        admitted = admit(demands, allowance, counting.measure, turn)
        check(topics, starts, ends, allowance, admitted)
        for name, entries in topics.items():
            read[name] += messages_between(entries, starts[name], admitted.ends[name])
        starts = dict(admitted.ends)
    assert starts == ends
    for name, entries in topics.items():
        assert read[name] == messages_between(entries, EARLIEST, ends[name])


def check(
    topics: Topics,
    starts: dict[TopicPartition, Position],
    ends: dict[TopicPartition, Position],
    allowance: Allowance,
    admitted: Admitted,
) -> None:
    taken = {
        name: messages_between(entries, starts[name], admitted.ends[name]) for name, entries in topics.items()
    }
    number = sum(len(each) for each in taken.values())
    assert number == admitted.records <= allowance.records
    assert admitted.size <= allowance.size or number <= 1
    assert all(starts[name] <= admitted.ends[name] <= ends[name] for name in topics)
    assert any(starts[name] < admitted.ends[name] for name in topics)
    if allowance.size >= UNLIMITED and number < allowance.records:
        assert admitted.ends == ends


@given(total=st.integers(0, 10_000), weights=st.lists(st.floats(0, 1e12), max_size=30))
def test_shares_sum_up_and_starve_no_partition(total: int, weights: list[float]) -> None:
    found = shares(total, weights)
    assert len(found) == len(weights)
    assert sum(found) == (total if weights else 0)
    assert all(share >= 0 for share in found)
    if total >= len(weights):
        assert all(share >= 1 for share in found)


@given(total=st.integers(1_000, 10**15), weights=st.lists(st.integers(1, 1_000), min_size=1, max_size=30))
def test_shares_are_in_proportion(total: int, weights: list[int]) -> None:
    found = shares(total, [float(weight) for weight in weights])
    for share, weight in zip(found, weights, strict=True):
        exact = (total - len(weights)) * weight / sum(weights)
        assert abs(share - 1 - exact) <= 1 + total * 1e-9
