"""Deleted topics of a stream: an error, or left out, but only if the broker itself reports them missing."""

from __future__ import annotations

import logging

import pytest

from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.microbatch.topics.checkpoint_topics import without_deleted

A, B = TopicPartition.parse("a"), TopicPartition.parse("b")
FORMER = {A: Position(1, 5), B: Position(2, 0)}


def none_deleted(partitions: set[TopicPartition]) -> set[TopicPartition]:
    raise AssertionError(partitions)


def test_no_request_is_sent_while_all_topics_exist() -> None:
    assert without_deleted(FORMER, {A: Position(1, 6), B: Position(2, 0)}, none_deleted, fail=True) == FORMER


def test_a_topic_that_only_lists_omit_stays() -> None:
    assert without_deleted(FORMER, {A: Position(1, 6)}, lambda _: set(), fail=True) == FORMER


def test_a_deleted_topic_is_an_error_or_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DataLossError, match=r"default/b: .* up to 2:0:0.* deleted"):
        without_deleted(FORMER, {A: Position(1, 6)}, lambda gone: gone, fail=True)
    with caplog.at_level(logging.WARNING):
        kept = without_deleted(FORMER, {A: Position(1, 6)}, lambda gone: gone, fail=False)
    assert kept == {A: Position(1, 5)}
    assert "continues without the topic" in caplog.text


def test_a_deleted_topic_that_was_drained_is_no_loss(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        kept = without_deleted(FORMER, {A: Position(1, 6)}, lambda gone: gone, drained={B}, fail=True)
    assert kept == {A: Position(1, 5)}
    assert not caplog.text
