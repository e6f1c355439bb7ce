"""The segments of a scalable topic that wait, and the segments that were missed."""

from __future__ import annotations

import logging

import pytest

from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.topic_layout import TopicLayout, TopicSegment
from pyspark_pulsar.read.microbatch.admission.segment_order import check_missed, drained_by, held_back

TOPIC = TopicName.parse("topic://public/default/orders", scalable=True)
LAYOUT = TopicLayout(
    TOPIC,
    (
        TopicSegment(0, 0, 0xFFFF, is_sealed=True),
        TopicSegment(1, 0, 0x7FFF, is_sealed=True, parents=(0,)),
        TopicSegment(2, 0x8000, 0xFFFF, is_sealed=False, parents=(0,)),
        TopicSegment(3, 0, 0x7FFF, is_sealed=False, parents=(1,)),
    ),
)
ZERO, ONE, TWO, THREE = LAYOUT.partitions
ENDS = {ZERO: Position(1, 5), ONE: EARLIEST, TWO: Position(3, 1), THREE: Position(4, 9)}
FIRST = dict.fromkeys(ENDS, EARLIEST)


def test_only_the_oldest_generation_is_read_first() -> None:
    held = held_back([LAYOUT], FIRST, ENDS, ENDS, (), lambda *_: False)
    assert held == {**FIRST, ZERO: Position(1, 5)}
    assert drained_by([LAYOUT], held, ENDS, ()) == {ZERO, ONE}, (
        "an empty segment that is sealed holds nothing"
    )


def test_children_of_a_drained_segment_begin() -> None:
    begin = {**FIRST, ZERO: Position(1, 5)}
    assert held_back([LAYOUT], begin, ENDS, ENDS, (), lambda *_: False) == ENDS


def test_a_segment_that_was_drained_before_needs_no_end() -> None:
    ends = {partition: end for partition, end in ENDS.items() if partition != ZERO}
    begin = dict.fromkeys(ends, EARLIEST)
    assert held_back([LAYOUT], begin, ends, ends, {ZERO}, lambda *_: False)[TWO] == Position(3, 1)


def test_a_query_that_ends_before_the_end_of_a_segment_continues_with_its_children() -> None:
    begin = {**FIRST, ZERO: Position(1, 2)}
    held = held_back([LAYOUT], begin, ENDS, ENDS, (), lambda partition, _: partition == ZERO)
    assert held[TWO] == Position(3, 1)


def test_a_segment_that_appeared_and_disappeared_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    former = {ZERO: Position(1, 5)}
    check_missed([LAYOUT], former, fail=True)
    check_missed([LAYOUT], {}, fail=True)
    gaps = TopicLayout(TOPIC, (LAYOUT.segments[0], LAYOUT.segments[3]))
    with pytest.raises(DataLossError, match="messages of 1, 2 were already removed"):
        check_missed([gaps], former, fail=True)
    with caplog.at_level(logging.WARNING):
        check_missed([gaps], former, fail=False)
    assert "messages of 1, 2 were already removed" in caplog.text
