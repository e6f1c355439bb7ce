"""The ends of a stream by positions, by `latest` and by time, the part up to them, and the moment they are reached."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_LATEST, OffsetBound
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.microbatch.ends.stream_end import StreamEnd, has_ended
from pyspark_pulsar.read.microbatch.offset import StreamOffset

A, B, C = (TopicPartition.parse(name) for name in "abc")


class Clock:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def end(clock: Clock | None = None, **options: object) -> StreamEnd:
    given = ReadOptions(service_url="pulsar://h:1", topics=("a", "b"), **options)  # type: ignore[arg-type]
    return StreamEnd(given, clock or Clock(0))


def positions(**texts: str) -> OffsetBound:
    return OffsetBound.parse("endingOffsets", json.dumps(texts))


def times(**texts: str) -> TimeBound:
    return TimeBound.parse("endingOffsetsByTimestamp", json.dumps(texts))


def test_without_an_end_nothing_changes() -> None:
    stream_end, ends = end(), {A: Position(1, 5)}
    stream_end.settle(ends)
    assert not stream_end.is_given
    assert stream_end.limited(ends, {}) == ends
    assert not stream_end.is_reached(ends)


def test_a_query_waits_for_later_positions() -> None:
    stream_end = end(ending_offsets=positions(a="7:3", b="2:0"))
    stream_end.settle({A: Position(5, 9), B: EARLIEST})
    first = stream_end.limited({A: Position(5, 9), B: EARLIEST}, {})
    assert first == {A: Position(5, 9), B: EARLIEST}
    assert not stream_end.is_reached(first)
    second = stream_end.limited({A: Position(9, 1), B: Position(2, 4)}, first)
    assert second == {A: Position(7, 3), B: Position(2, 0)}
    assert stream_end.is_reached(second)


def test_a_query_past_its_end_stays_at_its_position() -> None:
    stream_end = end(ending_offsets=positions(a="1:0", b="earliest"))
    reached = {A: Position(5, 9), B: Position(3, 0)}
    stream_end.settle({A: Position(6, 0), B: Position(4, 0)})
    assert stream_end.limited({A: Position(6, 0), B: Position(4, 0)}, reached) == reached
    assert stream_end.is_reached(reached)


def test_partitions_without_an_end_are_not_read() -> None:
    stream_end = end(ending_offsets=FROM_LATEST)
    stream_end.settle({A: Position(1, 5), B: EARLIEST})
    ends = {A: Position(1, 8), B: Position(2, 2), C: Position(3, 3)}
    stream_end.settle(ends)
    assert stream_end.limited(ends, {A: Position(1, 5)}) == {A: Position(1, 5), B: EARLIEST}
    assert stream_end.limited(ends, {C: Position(3, 1)})[C] == Position(3, 1)
    assert stream_end.is_reached({A: Position(1, 5), B: EARLIEST, C: Position(3, 1)})


def test_every_partition_must_be_named() -> None:
    with pytest.raises(OptionError, match="none for persistent://public/default/b"):
        end(ending_offsets=positions(a="1:0")).settle({A: EARLIEST, B: EARLIEST})
    with pytest.raises(OptionError, match="endingOffsetsByTimestamp"):
        end(ending_offsets_by_timestamp=times(a="5")).settle({A: EARLIEST, B: EARLIEST})


def test_a_time_is_reached_after_the_slack_when_all_messages_are_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock(seconds=100.0)
    stream_end = end(clock, ending_timestamp=95_000, clock_slack_ms=10_000)
    ends = {A: Position(1, 5)}
    stream_end.settle(ends)
    assert stream_end.limited(ends, {}) == ends
    assert not stream_end.is_reached(ends)
    assert not caplog.text
    clock.seconds = 105.0
    stream_end.settle({A: Position(1, 8)})
    later = {A: Position(1, 9), C: Position(3, 0)}
    clock.seconds = 106.0
    stream_end.settle(later)
    assert stream_end.limited(later, ends) == {A: Position(1, 8), C: Position(3, 0)}
    assert not stream_end.is_reached(ends)
    assert stream_end.is_reached({A: Position(1, 8), C: Position(3, 0)})
    assert caplog.text.count("clockSlackMs") == 2


def test_each_topic_has_its_own_time() -> None:
    clock = Clock(seconds=10.0)
    stream_end = end(clock, ending_offsets_by_timestamp=times(a="5000", b="20000"), clock_slack_ms=0)
    ends = {A: Position(1, 5), B: Position(2, 5)}
    stream_end.settle(ends)
    assert not stream_end.is_reached(ends)
    clock.seconds = 20.0
    stream_end.settle(ends)
    assert stream_end.is_reached(ends)


class Search:
    """A search with a fixed result."""

    def __init__(self) -> None:
        self.until: dict[TopicPartition, Position] = {}
        self.found: dict[TopicPartition, Position] = {}
        self.searches: list[Mapping[TopicPartition, Position]] = []

    def continue_search(self, starts: Mapping[TopicPartition, Position], *_: object) -> None:
        self.searches.append(starts)

    def searched(self, partition: TopicPartition) -> Position:
        return self.found.get(partition, self.until[partition])

    def ends(self) -> dict[TopicPartition, Position]:
        return self.found


def searching(search: Search, **options: object) -> StreamEnd:
    given = ReadOptions(service_url="pulsar://h:1", topics=("a", "b"), **options)  # type: ignore[arg-type]
    return StreamEnd(given, Clock(0), make_search=lambda *_: search)  # type: ignore[arg-type,return-value]


def test_an_event_time_ends_each_partition_at_the_message_found() -> None:
    search = Search()
    stream_end = searching(search, ending_event_time=5)
    ends = {A: Position(1, 5), B: Position(2, 5)}
    stream_end.settle(ends)
    search.until = {A: Position(1, 2), B: Position(2, 5)}
    stream_end.search({}, ends, None)
    assert stream_end.limited(ends, {}) == search.until
    assert not stream_end.is_reached(search.until)
    search.found = {A: Position(1, 3, 4)}
    stream_end.search(search.until, ends, None)
    reached = {A: Position(1, 3, 4), B: Position(2, 5)}
    assert stream_end.limited({A: Position(1, 9), B: Position(2, 5)}, search.until) == reached
    assert not stream_end.is_reached(reached)
    search.found[B] = Position(2, 5)
    stream_end.search(reached, ends, None)
    assert stream_end.is_reached(reached)
    assert search.searches == [{}, search.until, reached]


def test_event_times_name_every_topic_of_the_start_and_later_ones_are_not_read() -> None:
    search = Search()
    with pytest.raises(
        OptionError, match=r"endingOffsetsByEventTime.*none for persistent://public/default/b"
    ):
        searching(search, ending_offsets_by_event_time=times(a="5")).settle({A: EARLIEST, B: EARLIEST})
    stream_end = searching(search, ending_offsets_by_event_time=times(a="5", b="6"))
    stream_end.settle({A: EARLIEST, B: EARLIEST})
    search.until = {A: Position(1, 2), B: Position(2, 5)}
    ends = {A: Position(1, 5), B: Position(2, 5), C: Position(3, 1)}
    stream_end.search({}, ends, None)
    assert stream_end.limited(ends, {}) == search.until


def test_offsets_show_whether_their_query_has_ended() -> None:
    reached = StreamOffset({A: Position(1, 5)}, ended="run")
    assert has_ended(json.dumps(reached.to_json()))
    going = json.dumps(StreamOffset({A: Position(1, 5)}).to_json())
    for text in (going, None, "", "12", "null", '{"ended": 1}', "x", '"ended positions"'):
        assert not has_ended(text)
