"""Options of times: their forms, the topics that they apply to, and the ledgers that they exclude."""

from __future__ import annotations

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.bounds.timestamps import resolve_windows, span_of_window

A0, A1 = (TopicPartition.parse(f"a-partition-{index}") for index in (0, 1))
B = TopicPartition.parse("b")


def options(**given: str) -> ReadOptions:
    return parse_options(ReadOptions, {"service.url": "pulsar://x:1", "topics": "a,b", **given})


def test_one_time_applies_to_all_topics() -> None:
    given = options(startingTimestamp="1000", endingTime="1970-01-01T00:00:02+00:00")
    assert resolve_windows(given, [A0, B]) == dict.fromkeys([A0, B], TimeWindow(1000, 2000))
    assert resolve_windows(options(), [A0]) == {A0: TimeWindow()}


def test_a_time_between_two_milliseconds_is_rounded_up() -> None:
    given = options(startingTimestamp="1970-01-01T00:00:00.0005Z", endingTime="1970-01-01T00:00:00.001001Z")
    assert resolve_windows(given, [B]) == {B: TimeWindow(1, 2)}
    before = options(startingTimestamp="1969-12-31T23:59:59.9985Z", endingTime="-1")
    assert resolve_windows(before, [B]) == {B: TimeWindow(-1, -1)}


@pytest.mark.parametrize("text", ["9" * 19, "-" + "9" * 19, "9" * 5000, "--5", "-"])
def test_a_time_that_no_message_can_have_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected Unix milliseconds"):
        options(startingTimestamp=text)


def test_the_time_of_a_partition_overrides_the_time_of_its_topic() -> None:
    text = '{"a": 5, "a-partition-1": "7", "persistent://public/default/b": "1970-01-01T00:00:00.009Z"}'
    windows = resolve_windows(options(startingOffsetsByTimestamp=text), [A0, A1, B])
    assert windows == {A0: TimeWindow(5), A1: TimeWindow(7), B: TimeWindow(9)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "expected JSON from topic"),
        ("x", "expected JSON from topic"),
        ('{"a": "noon"}', "'noon' for topic 'a'"),
        ('{"a": "2026-01-31T08:00:00"}', "with a zone"),
        ('{"a": true}', "sets true for topic 'a': expected a time"),
        ('{"a": 1.5}', "sets 1.5 for topic 'a': expected a time"),
        ('{"a b": 1}', "a b"),
        ('{"a": 5}', r"none for persistent://public/default/b\b"),
        ('{"a": 5, "b": 6, "c": 7}', "one for persistent://public/default/c, which the query does not read"),
    ],
)
def test_malformed_times_are_refused(text: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        resolve_windows(options(endingOffsetsByTimestamp=text), [A0, A1, B])


@pytest.mark.parametrize(
    "given",
    [
        {"startingOffsets": "earliest", "startingTimestamp": "1"},
        {"startingTimestamp": "1", "startingOffsetsByTimestamp": "{}"},
        {"endingOffsets": "latest", "endingTimestamp": "1"},
    ],
)
def test_two_options_for_the_same_bound_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="set only one of them"):
        options(**given)


def test_a_start_and_an_end_may_have_different_forms() -> None:
    options(startingOffsets="earliest", endingTimestamp="5")


def test_a_start_after_the_end_is_refused() -> None:
    with pytest.raises(OptionError, match="is after 'endingTimestamp'"):
        options(startingTimestamp="6", endingTimestamp="5")
    options(startingTimestamp="5", endingTimestamp="5")
    assert TimeWindow(5, 5).is_empty


LEDGERS = (
    Ledger(3, 10, 100, opened_ms=None, closed_ms=1000),
    Ledger(7, 10, 100, opened_ms=1000, closed_ms=2000),
    Ledger(8, 10, 100, opened_ms=2000, closed_ms=3000),
    Ledger(9, 10, 100, opened_ms=3000, closed_ms=None),
)


@pytest.mark.parametrize(
    ("window", "slack", "span"),
    [
        (TimeWindow(), 0, (None, None)),
        (TimeWindow(1000), 0, (None, None)),
        (TimeWindow(1001), 0, (Position(7, 0), None)),
        (TimeWindow(1001), 1, (None, None)),
        (TimeWindow(99_999), 0, (Position(9, 0), None)),
        (TimeWindow(None, 2000), 0, (None, Position(8, 0))),
        (TimeWindow(None, 2000), 1, (None, Position(9, 0))),
        (TimeWindow(None, 2001), 0, (None, Position(9, 0))),
        (TimeWindow(None, 0), 0, (None, Position(7, 0))),
        (TimeWindow(1500, 1600), 0, (Position(7, 0), Position(8, 0))),
    ],
)
def test_ledgers_outside_of_the_window_are_excluded(
    window: TimeWindow, slack: int, span: tuple[Position | None, Position | None]
) -> None:
    assert span_of_window(LEDGERS, window, slack) == span
    assert span_of_window((), window, slack) == (None, None)


def closed_at(*times: int | None) -> tuple[Ledger, ...]:
    """Return ledgers 0, 1, 2 ..., each opened when the one before it was closed, if that time is known."""
    return tuple(
        Ledger(number, 10, 100, opened_ms=times[number - 1] if number else None, closed_ms=time)
        for number, time in enumerate(times)
    )


@pytest.mark.parametrize(
    ("times", "window", "span"),
    [
        # The closing time of one ledger is unknown.
        ((0, 2000, None), TimeWindow(5000), (None, None)),
        ((1000, 0, 3000, None), TimeWindow(5000), (Position(1, 0), None)),
        ((0, 2000, 3000, None), TimeWindow(None, 2500), (None, Position(3, 0))),
        ((0, 2000, 3000, None), TimeWindow(None, 1500), (None, Position(2, 0))),
        # A broker reports the present for a time that was never stored.
        ((9000, 2000, 3000, None), TimeWindow(None, 1500), (None, Position(2, 0))),
        ((1000, 9000, 3000, 4000, None), TimeWindow(None, 2000), (None, Position(3, 0))),
        ((1000, 9000, 3000, 4000, None), TimeWindow(None, 1000), (None, Position(1, 0))),
        ((9000, None), TimeWindow(None, 1500), (None, Position(1, 0))),
        # The clock of the broker that closed the second ledger was slow.
        ((3000, 2000, 5000, None), TimeWindow(2500), (None, None)),
        ((3000, 2000, 5000, None), TimeWindow(None, 2500), (None, Position(3, 0))),
        ((3000, 2000, 5000, None), TimeWindow(3001), (Position(2, 0), None)),
    ],
)
def test_contradictory_times_exclude_no_ledger_that_may_be_inside(
    times: tuple[int | None, ...], window: TimeWindow, span: tuple[Position | None, Position | None]
) -> None:
    assert span_of_window(closed_at(*times), window, 0) == span
