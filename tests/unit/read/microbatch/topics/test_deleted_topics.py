"""Topics that were deleted behind a stream: an error, or left out, but only when the broker says so itself."""

from __future__ import annotations

import logging

import pytest

from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.microbatch.topics.checkpoint_topics import without_deleted

A, B = TopicPartition.parse("a"), TopicPartition.parse("b")
FORMER = {A: Position(1, 5), B: Position(2, 0)}


def nobody(partitions: set[TopicPartition]) -> set[TopicPartition]:
    raise AssertionError(partitions)


def test_nobody_is_asked_while_all_are_there() -> None:
    assert without_deleted(FORMER, {A: Position(1, 6), B: Position(2, 0)}, nobody, fail=True) == FORMER


def test_what_is_only_not_listed_stays() -> None:
    assert without_deleted(FORMER, {A: Position(1, 6)}, lambda _: set(), fail=True) == FORMER


def test_a_deleted_topic(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DataLossError, match=r"default/b: .* up to 2:0:0.* deleted"):
        without_deleted(FORMER, {A: Position(1, 6)}, lambda gone: gone, fail=True)
    with caplog.at_level(logging.WARNING):
        kept = without_deleted(FORMER, {A: Position(1, 6)}, lambda gone: gone, fail=False)
    assert kept == {A: Position(1, 5)}
    assert "continues without it" in caplog.text


def test_what_was_drained_is_not_missed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        kept = without_deleted(FORMER, {A: Position(1, 6)}, lambda gone: gone, drained={B}, fail=True)
    assert kept == {A: Position(1, 5)}
    assert not caplog.text
