"""The lag of a stream, computed from the known parts of its topics."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.microbatch.progress.lag import Lag, LagReport, LagWatch, measured_lag
from pyspark_pulsar.read.sources.peek import FirstEntry

NOW_MS = 1_800_000_000_000
A, B, C = (TopicPartition.parse(name) for name in "abc")


def first(position: Position, messages: int = 1, size: int = 50, age_ms: int | None = 2_500) -> FirstEntry:
    return FirstEntry(position, messages, size, None if age_ms is None else NOW_MS - age_ms)


def ledger(number: int, entries: int, size: int, *, is_open: bool = False) -> Ledger:
    return Ledger(number, entries, size, opened_ms=None, closed_ms=None if is_open else 1)


LEDGERS = (ledger(1, 10, 1000), ledger(3, 20, 4000), ledger(5, 7, 700, is_open=True))


@pytest.mark.parametrize(
    ("start", "end", "ledgers", "messages", "expected"),
    [
        pytest.param(Position(1, 4), Position(1, 9), LEDGERS, 1, Lag(5, 500, 2.5), id="in one ledger"),
        pytest.param(Position(1, 4), Position(5, 2), LEDGERS, 1, Lag(28, 4800, 2.5), id="over ledgers"),
        pytest.param(Position(1, 4), Position(5, 2), LEDGERS, 10, Lag(280, 4800, 2.5), id="batched"),
        pytest.param(Position(1, 4, 3), Position(1, 9), LEDGERS, 10, Lag(47, 500, 2.5), id="inside an entry"),
        pytest.param(Position(5, 4), Position(5, 9), LEDGERS, 1, Lag(5, 500, 2.5), id="grown since"),
        pytest.param(Position(5, 4), Position(5, 9), None, 2, Lag(10, 250, 2.5), id="ledgers not known"),
        pytest.param(
            Position(3, 4), Position(5, 9), None, 2, Lag(None, None, 2.5), id="nor how many lie between"
        ),
    ],
)
def test_the_lag_from_a_position_to_the_end(
    start: Position, end: Position, ledgers: tuple[Ledger, ...] | None, messages: int, expected: Lag
) -> None:
    entry = first(Position(start.ledger, start.entry), messages)
    assert measured_lag(entry, ledgers, start, end, NOW_MS) == expected


def test_removed_messages_do_not_count() -> None:
    entry = first(Position(3, 0))
    assert measured_lag(entry, LEDGERS, EARLIEST, Position(3, 20), NOW_MS).messages == 20
    assert measured_lag(entry, None, EARLIEST, Position(3, 20), NOW_MS) == Lag(20, 1000, 2.5)
    assert measured_lag(first(Position(6, 0)), LEDGERS, EARLIEST, Position(5, 7), NOW_MS) == Lag()


def test_without_an_entry_the_lag_is_unknown() -> None:
    assert measured_lag(None, LEDGERS, Position(1, 0), Position(5, 7), NOW_MS) == Lag(None, None, None)
    entry = first(Position(1, 0), age_ms=None)
    assert measured_lag(entry, LEDGERS, Position(1, 0), Position(1, 10), NOW_MS) == Lag(10, 1000, None)
    ahead_of_our_clock = first(Position(1, 0), age_ms=-400)
    assert measured_lag(ahead_of_our_clock, LEDGERS, Position(1, 0), Position(1, 10), NOW_MS).seconds == 0


def test_a_sum_with_an_unknown_part_is_unknown_and_seconds_are_the_maximum() -> None:
    report = LagReport(NOW_MS, {A: Lag(3, 30, 1.5), B: Lag(4, 40, 7.25)})
    assert report.total == Lag(7, 70, 7.25)
    assert LagReport(NOW_MS, {**report.lags, C: Lag(None, None, None)}).total == Lag(None, None, 7.25)
    assert LagReport(NOW_MS, {}).total == Lag()
    assert report.to_json() == {
        "measuredAt": NOW_MS, "messages": 7, "bytes": 70, "seconds": 7.25,
        "partitions": {
            A.name: {"messages": 3, "bytes": 30, "seconds": 1.5},
            B.name: {"messages": 4, "bytes": 40, "seconds": 7.25},
        },
    }  # fmt: skip


class Topics:
    """Topics with fixed answers of brokers, the duration of each, and the groups of requests."""

    def __init__(self, seconds: float = 0.0, *, lost: Collection[TopicPartition] = ()) -> None:
        """Store the answers. No broker answers about the partitions in `lost`."""
        self.now = 100.0
        self.seconds = seconds
        self.requests: list[list[TopicPartition]] = []
        self.lost = frozenset(lost)
        self.watch = LagWatch(self.first, self.ledgers, 10.0, lambda: self.now, lambda: self.now)

    def first(self, starts: Mapping[TopicPartition, Position]) -> dict[TopicPartition, FirstEntry | None]:
        self.requests.append(list(starts))
        self.now += self.seconds
        if self.lost & starts.keys():
            raise ConnectionFailed("gone")
        return {partition: first(start, age_ms=None) for partition, start in starts.items()}

    def ledgers(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, tuple[Ledger, ...] | None]:
        return dict.fromkeys(partitions, LEDGERS)


BEHIND = {A: Position(1, 4), B: Position(1, 4), C: Position(1, 4)}
ENDS = {A: Position(1, 9), B: Position(1, 8), C: Position(1, 4)}


def test_only_lagging_partitions_are_measured_once_per_interval() -> None:
    topics = Topics()
    assert {each: lag.messages for each, lag in topics.watch.measure(BEHIND, ENDS).lags.items()} == {
        A: 5,
        B: 4,
    }
    topics.now += 5
    assert topics.watch.measure(BEHIND, ENDS).lags[B].messages == 4
    assert topics.requests == [[A, B]]
    topics.now += 6
    topics.watch.measure(BEHIND, ENDS)
    assert topics.requests == [[A, B], [A, B]]


def test_a_query_that_caught_up_has_no_lag_immediately() -> None:
    topics = Topics()
    topics.watch.measure(BEHIND, ENDS)
    report = topics.watch.measure(ENDS, ENDS)
    assert (report.lags, report.total) == ({}, Lag())


MANY = [TopicPartition.parse(f"many-{number:02}") for number in range(20)]
MANY_BEHIND = dict.fromkeys(MANY, Position(1, 4))
MANY_ENDS = dict.fromkeys(MANY, Position(1, 6))


def test_a_trigger_measures_groups_of_eight_for_a_short_time_and_the_next_continues() -> None:
    topics = Topics(seconds=0.2)
    report = topics.watch.measure(MANY_BEHIND, MANY_ENDS)
    assert topics.requests == [MANY[:8], MANY[8:16]]
    assert (report.lags[MANY[16]], report.total.messages) == (Lag(None, None, None), None)
    assert topics.watch.measure(MANY_BEHIND, MANY_ENDS).total.messages == 20 * 2
    assert topics.requests[2:] == [MANY[16:]]


def test_a_partition_without_an_answer_does_not_hide_others(caplog: pytest.LogCaptureFixture) -> None:
    topics = Topics(lost=[MANY[3]])
    with caplog.at_level(logging.WARNING):
        lags = topics.watch.measure(MANY_BEHIND, MANY_ENDS).lags
    assert [partition for partition, lag in lags.items() if lag.messages is None] == [MANY[3]]
    assert topics.requests == [MANY[:8], *([partition] for partition in MANY[:8]), MANY[8:16], MANY[16:]]
    assert [record.getMessage() for record in caplog.records] == [
        "measuring the query's lag failed for some topic partitions: gone"
    ]


def test_a_failed_measurement_fails_nothing_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    topics = Topics(lost=BEHIND)
    with caplog.at_level(logging.WARNING):
        report = topics.watch.measure(BEHIND, ENDS)
    assert report.total == Lag(None, None, None)
    assert [record.getMessage() for record in caplog.records] == [
        "measuring the query's lag failed for some topic partitions: gone"
    ]
