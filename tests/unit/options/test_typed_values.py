"""Values of options about topics, positions and times: types that are parsed once and pickled to executors."""

from __future__ import annotations

import pickle

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST, LogSide
from pyspark_pulsar.options.values.time_bound import TimeBound

SERVICE = {"service.url": "pulsar://h:1"}
A = TopicPartition.parse("a")


def options(**given: str) -> ReadOptions:
    return parse_options(ReadOptions, {**SERVICE, "topic": "a", **given})


def test_offsets() -> None:
    assert options(startingOffsets="earliest").starting_offsets == FROM_EARLIEST
    bound = options(endingOffsets='{"a": "5:1", "*": "latest"}').ending_offsets
    assert bound is not None
    assert (bound.named, bound.others) == (((A, Position(5, 1)),), LogSide.LATEST)
    with pytest.raises(OptionError, match="option 'endingOffsets' is 'earliest': expected latest, or JSON"):
        options(endingOffsets="earliest")
    with pytest.raises(
        OptionError, match="option 'startingOffsets' is ' ': expected earliest or latest, or JSON from"
    ):
        options(startingOffsets=" ")


def test_times_whichever_option_gives_them() -> None:
    assert options().published_from is None
    assert options(startingTimestamp="5").published_from == TimeBound(all=5)
    assert options(endingOffsetsByTimestamp='{"a": 7}').published_before == TimeBound(by_name=((A, 7),))
    assert options(endingEventTime="9").event_before == TimeBound(all=9)
    with pytest.raises(OptionError, match="option 'endingOffsetsByEventTime' is 'noon': expected JSON"):
        options(endingOffsetsByEventTime="noon")


@pytest.mark.parametrize("time", [9223372036854774, -9223372036854774, 0, -1])
def test_times_that_columns_can_hold(time: int) -> None:
    assert options(startingTimestamp=str(time)).published_from == TimeBound(all=time)
    assert options(endingOffsetsByTimestamp=f'{{"a": {time}}}').published_before == TimeBound(
        by_name=((A, time),)
    )


@pytest.mark.parametrize(
    "time",
    [
        "9223372036854775",
        "-9223372036854775",
        "999999999999999999",
        "NaN",
        "inf",
        "1e5",
        "0000-01-01T00:00:00Z",
        "294247-01-10T04:00:54Z",
        "2026-01-31T08:00:00+25:00",
    ],
)
def test_times_that_columns_cannot_hold_are_refused(time: str) -> None:
    expected = "expected Unix milliseconds up to 9223372036854774, or ISO 8601 with a zone"
    with pytest.raises(OptionError, match=f"^option 'startingTimestamp' is '.*': {expected}"):
        options(startingTimestamp=time)
    with pytest.raises(OptionError, match=f"for topic 'a': {expected}"):
        options(endingOffsetsByTimestamp=f'{{"a": "{time}"}}')


def test_a_wrong_topic_of_a_time_names_the_option() -> None:
    with pytest.raises(OptionError, match=r"option 'startingOffsetsByTimestamp': topic 'foo://x'"):
        options(startingOffsetsByTimestamp='{"foo://x": 5}')


def test_a_pattern() -> None:
    pattern = parse_options(ReadOptions, {**SERVICE, "topicsPattern": " [ab] "}).topics_pattern
    assert pattern is not None
    assert pattern.text == "[ab]"
    assert pattern.matches(TopicName.parse("a"))
    with pytest.raises(
        OptionError, match=r"^option 'topicsPattern' is '\[': expected a regular expression \("
    ):
        parse_options(ReadOptions, {**SERVICE, "topicsPattern": "["})


def test_all_errors_can_be_sent_to_executors() -> None:
    given = {"startingOffsets": '{"a": "earliest"}', "endingOffsetsByTimestamp": '{"a": 7}'}
    for parsed in (options(**given), parse_options(ReadOptions, {**SERVICE, "topicsPattern": "x.*"})):
        assert pickle.loads(pickle.dumps(parsed)) == parsed
