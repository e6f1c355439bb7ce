"""A query that fails over continues before all unread messages, whatever two clusters produce, wherever it
is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from hypothesis import given, strategies as st

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.tools.failover.resume import PreviousCluster, ResumePoint, Resumption
from pyspark_pulsar.tools.failover.topic_log import Condition, Origin, TopicLog

TOPIC = TopicPartition.parse("persistent://public/default/t-partition-0")
MOST_LAG_MS = 50


@dataclass(frozen=True)
class Message:
    produced_in: str
    published_ms: int
    lag_ms: int
    """The delay on the way to the other cluster."""


@dataclass(frozen=True)
class Clusters:
    """The messages in each cluster, with their times of arrival, when `east` fails."""

    east: list[tuple[int, Message]]
    west: list[tuple[int, Message]]
    log: TopicLog
    """The ledgers of `west`."""
    replicated: Position
    """The position of the replicator of `west`."""


def arrivals(messages: list[Message], cluster: str) -> list[tuple[int, Message]]:
    """Return the arrivals at a cluster; replicators keep the order."""
    own = [(message.published_ms, message) for message in messages if message.produced_in == cluster]
    others = [message for message in messages if message.produced_in != cluster]
    times = accumulate((message.published_ms + message.lag_ms for message in others), max)
    return sorted([*own, *zip(times, others, strict=True)], key=lambda arrival: arrival[0])


def ledgers_of(west: list[tuple[int, Message]], sizes: list[int]) -> list[Ledger]:
    ledgers: list[Ledger] = []
    begin = 0
    for number, size in enumerate([*sizes, len(west)]):
        inside = west[begin : begin + size]
        is_last = begin + size >= len(west)
        closed = None if is_last else inside[-1][0]
        opened = ledgers[-1].closed_ms if ledgers else None
        ledgers.append(Ledger(10 * number, len(inside), 100, opened_ms=opened, closed_ms=closed))
        begin += size
        if is_last:
            break
    return ledgers


@st.composite
def clusters(draw: st.DrawFn, *, one_way: bool = False) -> Clusters:
    times = list(accumulate(draw(st.lists(st.integers(1, 40), min_size=1, max_size=60)), initial=1_000))
    failed = draw(st.sampled_from(times))
    interrupted = draw(st.sampled_from([failed, *times]))
    messages = [
        Message(
            "west"
            if time > failed or (not one_way and draw(st.booleans()))
            else "east", time, draw(st.integers(0, MOST_LAG_MS))
        )
        for time in times
    ]  # fmt: skip
    east = [
        (time, message)
        for time, message in arrivals(messages, "east")
        if time <= (failed if message.produced_in == "east" else min(failed, interrupted))
    ]
    west = [
        (time, message)
        for time, message in arrivals(messages, "west")
        if message.produced_in == "west" or time <= failed
    ]
    ledgers = ledgers_of(west, draw(st.lists(st.integers(1, 20), max_size=5)))
    numbers = {id(message): number for number, (_, message) in enumerate(east)}
    places = [Position(ledger.id, entry) for ledger in ledgers for entry in range(ledger.entries)]
    entries = [
        Origin(place, message.published_ms, None, None)
        if message.produced_in == "west"
        else Origin(place, message.published_ms, "east", (7, numbers[id(message)]))
        for place, (_, message) in zip(places, west, strict=True)
    ]

    def first(start: Position, end: Position, condition: Condition) -> Origin | None:
        return next((entry for entry in entries if start <= entry.position < end and condition(entry)), None)

    sent = {id(message) for _, message in east}
    stands = [
        entry.position
        for entry, (_, message) in zip(entries, west, strict=True)
        if message.produced_in == "west" and id(message) not in sent
    ]
    end = Position(places[-1].ledger, places[-1].entry + 1) if places else EARLIEST
    return Clusters(east, west, TopicLog(ledgers, end, first), min([*stands, end]))


def resumed(both: Clusters, read: int, *, one_way: bool = False) -> ResumePoint:
    former = PreviousCluster("east", MOST_LAG_MS, is_only_source=one_way)
    return Resumption(both.log, former, TOPIC, Position(7, read)).point(both.replicated)


@given(clusters(), st.data())
def test_nothing_unread_is_passed_over(both: Clusters, data: st.DataObject) -> None:
    read = data.draw(st.integers(0, len(both.east)))
    begin = both.log.number(resumed(both, read).position)
    was_read = {id(message) for _, message in both.east[:read]}
    passed = [message for _, message in both.west[:begin]]
    assert [message for message in passed if id(message) not in was_read] == []


@given(clusters(one_way=True), st.data())
def test_no_message_is_repeated_if_all_are_from_one_cluster(both: Clusters, data: st.DataObject) -> None:
    read = data.draw(st.integers(0, len(both.east)))
    point = resumed(both, read, one_way=True)
    begin = both.log.number(point.position)
    was_read = {id(message) for _, message in both.east[:read]}
    assert [id(message) in was_read for _, message in both.west] == [
        number < begin for number in range(len(both.west))
    ]
    assert point.repeated == 0
    assert point.is_bounded == any(id(message) in was_read for _, message in both.west)


@given(clusters(), st.data())
def test_numbers_and_positions(both: Clusters, data: st.DataObject) -> None:
    log = both.log
    assert log.size == len(both.west)
    number = data.draw(st.integers(0, log.size))
    assert log.number(log.position(number)) == number
