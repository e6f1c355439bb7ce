"""The micro-batch that a trigger derives from its steps, and the work it leaves to its caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST, FROM_LATEST
from pyspark_pulsar.read.microbatch.ends.stream_end import StreamEnd
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.topic_ends import PresentEnds
from pyspark_pulsar.read.microbatch.trigger import Trigger

A, B = TopicPartition.parse("a"), TopicPartition.parse("b")
BEGIN, MIDDLE, END, LATER = Position(5, 0), Position(5, 4), Position(5, 9), Position(8, 2)


class Steps:
    """The steps of a trigger: the ends are from a list, the goal is all of them, and a limit stops in the middle."""

    def __init__(self, *ends: Mapping[TopicPartition, Position], **options: Any) -> None:
        given = ReadOptions(service_url="pulsar://x:6650", topic="a", **options)
        self.end = StreamEnd(given)
        self.looked_up: list[tuple[Mapping[TopicPartition, Position], bool]] = []
        self.waits: list[bool] = []
        self.available_now: list[bool] = []
        self.recalled: list[Mapping[TopicPartition, Position]] = []
        self._ends = iter(ends)
        parts: Any = self
        self.trigger = Trigger("run", parts, parts, self.end, parts, parts)

    def look_up(self, former: StreamOffset, *, is_repeated: bool) -> PresentEnds:
        self.looked_up.append((former.positions, is_repeated))
        self.recalled.append(former.passed)
        return PresentEnds(next(self._ends))

    def find_goal(self, former: StreamOffset, present: PresentEnds) -> StreamOffset:
        self.end.settle(present.positions)
        starts = dict.fromkeys(present.positions, BEGIN) if former.start is not None else {}
        return StreamOffset(present.positions, starts)

    def admitted(self, former: StreamOffset, goal: StreamOffset, *, waits: bool) -> StreamOffset:
        self.waits.append(waits)
        return StreamOffset(dict.fromkeys(goal.positions, MIDDLE), goal.starts)

    def find_passed(
        self, former: StreamOffset, reached: StreamOffset, ends: object, *, is_available_now: bool
    ) -> dict[TopicPartition, Position]:
        self.available_now.append(is_available_now)
        return {}


def test_a_query_begins_and_reads_all_messages() -> None:
    steps = Steps({A: END})
    batch = steps.trigger.next_micro_batch(StreamOffset(start=FROM_EARLIEST), is_limited=False)
    assert batch.end == StreamOffset({A: END}, {A: BEGIN})
    assert (batch.committed, batch.goal, batch.counted_from) == ({A: BEGIN}, {A: END}, {A: BEGIN})
    assert batch.present_ends == {A: END}
    assert not batch.is_empty
    assert steps.looked_up == [({}, True)], "what is hidden yet is read later"


def test_a_query_that_begins_at_the_end_must_see_it() -> None:
    steps = Steps({A: END})
    steps.trigger.next_micro_batch(StreamOffset(start=FROM_LATEST), is_limited=False)
    assert steps.looked_up == [({}, False)]


def test_without_new_messages_the_micro_batch_is_empty() -> None:
    steps = Steps({A: END})
    former = StreamOffset({A: END}, {A: BEGIN}, passed={A: LATER})
    batch = steps.trigger.next_micro_batch(former, is_limited=False)
    assert not batch.is_empty, "the offset says no more that a ledger is passed"
    assert steps.recalled == [{A: LATER}]
    steps = Steps({A: END})
    assert steps.trigger.next_micro_batch(StreamOffset({A: END}, {A: BEGIN}), is_limited=False).is_empty


def test_the_lag_of_a_limited_micro_batch_is_measured_to_the_ends() -> None:
    """A topic partition that the query does not read yet does not count."""
    steps = Steps({A: END})
    batch = steps.trigger.next_micro_batch(StreamOffset({A: BEGIN}), is_limited=True)
    assert batch.end == StreamOffset({A: MIDDLE})
    assert (batch.committed, batch.goal, batch.counted_from) == ({A: BEGIN}, {A: END}, {A: BEGIN})
    assert steps.waits == [True]


def test_available_now_ends_at_the_initial_ends_without_waiting() -> None:
    steps = Steps({A: END}, {A: LATER, B: LATER})
    steps.trigger.freeze()
    batch = steps.trigger.next_micro_batch(StreamOffset({A: BEGIN}), is_limited=True)
    assert batch.present_ends == {A: END}
    assert (batch.goal, batch.counted_from) == ({A: END}, {A: MIDDLE}), (
        "its last progress is behind by nothing"
    )
    assert (steps.waits, steps.available_now) == ([False], [True])
    assert steps.looked_up == [({}, False)]


@pytest.mark.parametrize(("is_limited", "ended"), [(False, "run"), (True, None)])
def test_an_offset_states_that_the_query_has_ended(is_limited: bool, ended: str | None) -> None:
    steps = Steps({A: END}, ending_offsets=FROM_LATEST)
    batch = steps.trigger.next_micro_batch(StreamOffset({A: BEGIN}), is_limited=is_limited)
    assert batch.end.ended == ended
    assert batch.counted_from == ({A: BEGIN} if is_limited else {A: END})
