"""Behind what consumers see a stream stands only where a broker has said so before it told the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.microbatch import readable_ends
from pyspark_pulsar.read.microbatch.readable_ends import ReadableEnds
from pyspark_pulsar.topic import TopicPartition

A = TopicPartition.parse("persistent://public/default/a")
MANY = [TopicPartition(A.topic, index) for index in range(3_000)]
SEGMENT = TopicPartition.parse("segment://public/default/a/0000-ffff-0")
S, R, LATER = Position(5, 10), Position(5, 12), Position(6, 1)


class Asked:
    """Questions that wait for their answers."""

    def __init__(self, ends: ReadableEnds, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: dict[TopicPartition, Future[Position | None]] = {}
        monkeypatch.setattr(ends._admin, "begin", self._begin)

    def _begin(self, work: Callable[..., Any], admin: Any, partition: TopicPartition) -> Any:
        del work, admin
        answer: Future[Position | None] = Future()
        self.answers[partition] = answer
        return answer


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readable_ends, "REST_SECONDS", 0.0)


@pytest.fixture
def ends() -> ReadableEnds:
    return ReadableEnds(ReadOptions(service_url="pulsar://x:6650", admin_url="http://x:8080", topic="a"))


@pytest.fixture
def asked(ends: ReadableEnds, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(ends, monkeypatch)


def look_twice(ends: ReadableEnds) -> None:
    for _ in range(2):
        ends.look({A: S}, {A: S})


def test_it_stands_behind_markers_when_the_end_is_told_once_more(ends: ReadableEnds, asked: Asked) -> None:
    look_twice(ends)
    assert ends.behind({A: S}) == {A: S}
    asked.answers[A].set_result(R)
    ends.look({A: S}, {A: S})
    assert ends.behind({A: S}) == {A: S}, "this end may have been told before the answer"
    ends.look({A: S}, {A: S})
    assert ends.behind({A: S}) == {A: R}
    ends.look({A: S}, {A: LATER})
    assert ends.behind({A: S}) == {A: R}, "the next range begins there"
    assert ends.behind({A: Position(5, 9)}) == {A: Position(5, 9)}
    ends.look({A: LATER}, {A: LATER})
    assert ends.behind({A: LATER, MANY[0]: S}) == {A: LATER, MANY[0]: S}


@pytest.mark.parametrize("taken", [False, True], ids=["before the answer is taken", "after that"])
def test_what_was_written_before_the_answer_is_not_left_out(
    ends: ReadableEnds, asked: Asked, taken: bool
) -> None:
    look_twice(ends)
    asked.answers[A].set_result(LATER)
    if taken:
        # Brokers were asked for this end before the answer came.
        ends.look({A: S}, {A: S})
    ends.look({A: S}, {A: LATER})
    for _ in range(3):
        ends.look({A: S}, {A: S})
    assert ends.behind({A: S}) == {A: S}


@pytest.mark.parametrize("answer", [None, S, Position(5, 9)])
def test_an_answer_that_tells_nothing_is_not_asked_for_again(
    ends: ReadableEnds, asked: Asked, answer: Position | None
) -> None:
    look_twice(ends)
    asked.answers.pop(A).set_result(answer)
    look_twice(ends)
    assert ends.behind({A: S}) == {A: S}
    assert not asked.answers


def test_of_thousands_few_are_asked_at_a_time_and_all_in_the_end(ends: ReadableEnds, asked: Asked) -> None:
    stand = dict.fromkeys(MANY, S)
    ends.look(stand, stand)
    for trigger in range(1, 1_000):
        ends.look(stand, stand)
        assert len(asked.answers) <= 16 * trigger
        for answer in asked.answers.values():
            if not answer.done():
                answer.set_result(R)
        if len(asked.answers) == len(MANY):
            break
    for _ in range(2):
        ends.look(stand, stand)
    assert ends.behind(stand) == dict.fromkeys(MANY, R)


def test_a_failure_is_not_met_at_each_trigger(
    ends: ReadableEnds, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_twice(ends)
    asked.answers.pop(A).set_exception(ConnectionFailed("503"))
    for _ in range(3):
        look_twice(ends)
    assert not asked.answers
    monkeypatch.setattr(ends, "_not_before", 0.0)
    look_twice(ends)
    asked.answers[A].set_result(R)
    look_twice(ends)
    assert ends.behind({A: S}) == {A: R}


def test_a_stream_that_does_not_rest_asks_nothing(
    ends: ReadableEnds, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readable_ends, "REST_SECONDS", 30.0)
    for entry in range(10):
        ends.look({A: Position(5, entry)}, {A: Position(5, entry)})
    look_twice(ends)
    assert not asked.answers


def test_segments_and_streams_without_admin_url(ends: ReadableEnds, asked: Asked) -> None:
    for _ in range(2):
        ends.look({SEGMENT: S}, {SEGMENT: S})
    assert not asked.answers
    blind = ReadableEnds(ReadOptions(service_url="pulsar://x:6650", topic="a"))
    look_twice(blind)
    assert blind.behind({A: S}) == {A: S}
    blind.close()
