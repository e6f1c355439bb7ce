"""A stream's progress past the last visible message: its requests, their times, and the use of the answers."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.microbatch.ends import readable_ends
from pyspark_pulsar.read.microbatch.ends.readable_ends import ReadableEnds

A = TopicPartition.parse("persistent://public/default/a")
MANY = [TopicPartition(A.topic, index) for index in range(3_000)]
SEGMENT = TopicPartition.parse("segment://public/default/a/0000-ffff-0")
S, R, LATER = Position(5, 10), Position(5, 12), Position(6, 1)


class PendingRequests:
    """Requests that wait for their answers."""

    def __init__(self, ends: ReadableEnds, monkeypatch: pytest.MonkeyPatch) -> None:
        self.questions: list[tuple[Positions, Future[Positions]]] = []
        monkeypatch.setattr(ends._thread, "submit", self._submit)

    def _submit(self, work: Any, positions: Positions) -> Future[Positions]:
        del work
        answer: Future[Positions] = Future()
        self.questions.append((positions, answer))
        return answer

    def answer(self, readable: Position) -> None:
        positions, answer = self.questions[-1]
        answer.set_result(dict.fromkeys(positions, readable))


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readable_ends, "REST_SECONDS", 0.0)


@pytest.fixture
def ends() -> ReadableEnds:
    return ReadableEnds(ReadOptions(service_url="pulsar://x:6650", topic="a"))


@pytest.fixture
def pending(ends: ReadableEnds, monkeypatch: pytest.MonkeyPatch) -> PendingRequests:
    return PendingRequests(ends, monkeypatch)


def test_the_position_passes_markers_after_the_broker_s_answer(
    ends: ReadableEnds, pending: PendingRequests
) -> None:
    ends.observe({A: S}, {A: S})
    assert ends.skip_unseen({A: S}) == {A: S}
    pending.answer(R)
    ends.observe({A: S}, {A: S})
    assert ends.skip_unseen({A: S}) == {A: R}
    ends.observe({A: S}, {A: LATER})
    assert ends.skip_unseen({A: S}) == {A: R}, "the next range begins there"
    assert ends.skip_unseen({A: Position(5, 9)}) == {A: Position(5, 9)}
    ends.observe({A: LATER}, {A: LATER})
    assert ends.skip_unseen({A: LATER, MANY[0]: S}) == {A: LATER, MANY[0]: S}


def test_an_answer_belongs_to_the_position_at_the_request(
    ends: ReadableEnds, pending: PendingRequests
) -> None:
    ends.observe({A: S}, {A: S})
    pending.answer(LATER)
    ends.observe({A: R}, {A: R})
    assert ends.skip_unseen({A: S, MANY[0]: R}) == {A: S, MANY[0]: R}
    assert ends.skip_unseen({A: R}) == {A: R}


@pytest.mark.parametrize("answer", [S, Position(5, 9)])
def test_an_answer_without_progress_is_not_requested_again(
    ends: ReadableEnds, pending: PendingRequests, answer: Position
) -> None:
    ends.observe({A: S}, {A: S})
    pending.answer(answer)
    for _ in range(3):
        ends.observe({A: S}, {A: S})
    assert ends.skip_unseen({A: S}) == {A: S}
    assert len(pending.questions) == 1


def test_thousands_of_partitions_are_requested_in_groups(
    ends: ReadableEnds, pending: PendingRequests
) -> None:
    stand = dict.fromkeys(MANY, S)
    for trigger in range(1, 31):
        ends.observe(stand, stand)
        assert len(pending.questions) == trigger
        assert len(pending.questions[-1][0]) == 100
        ends.observe(stand, stand)
        assert len(pending.questions) == trigger, "one question at a time"
        pending.answer(R)
    ends.observe(stand, stand)
    assert len(pending.questions) == 30
    assert ends.skip_unseen(stand) == dict.fromkeys(MANY, R)


def test_a_failed_request_is_not_repeated_at_each_trigger(
    ends: ReadableEnds, pending: PendingRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends.observe({A: S}, {A: S})
    pending.questions[-1][1].set_exception(ConnectionFailed("away"))
    for _ in range(3):
        ends.observe({A: S}, {A: S})
    assert len(pending.questions) == 1
    monkeypatch.setattr(ends, "_not_before", 0.0)
    ends.observe({A: S}, {A: S})
    pending.answer(R)
    ends.observe({A: S}, {A: S})
    assert ends.skip_unseen({A: S}) == {A: R}


def test_an_active_stream_sends_no_request(
    ends: ReadableEnds, pending: PendingRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readable_ends, "REST_SECONDS", 30.0)
    for entry in range(10):
        ends.observe({A: Position(5, entry)}, {A: Position(5, entry)})
    monkeypatch.setattr(readable_ends, "REST_SECONDS", 0.0)
    ends.observe({A: S}, {A: LATER})
    ends.observe({A: S}, {A: LATER})
    assert pending.questions[1:] == []


def test_a_topic_without_remaining_ledgers_is_requested_too(
    ends: ReadableEnds, pending: PendingRequests
) -> None:
    ends.observe({A: S}, {A: EARLIEST})
    assert [positions for positions, _ in pending.questions] == [{A: S}]


def test_the_content_of_an_offset_is_used_immediately(ends: ReadableEnds) -> None:
    ends.recall({A: S}, {A: LATER, MANY[0]: LATER})
    assert ends.skip_unseen({A: S, MANY[0]: S}) == {A: LATER, MANY[0]: S}
    ends.observe({A: S}, {A: S})
    ends.recall({A: S}, {A: R})
    assert ends.skip_unseen({A: S}) == {A: LATER}, "nothing that is known is forgotten"


def test_segments_and_compacted_views_send_no_request(ends: ReadableEnds, pending: PendingRequests) -> None:
    ends.observe({SEGMENT: S}, {SEGMENT: S})
    assert not pending.questions
    view = ReadableEnds(ReadOptions(service_url="pulsar://x:6650", topic="a", read_compacted=True))
    view.observe({A: S}, {A: S})
    assert view.skip_unseen({A: S}) == {A: S}
    view.close()
