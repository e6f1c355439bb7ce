"""Messages that retention removed from a range: when they are an error, and what the error contains."""

from __future__ import annotations

import logging

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.log_end import RemovedEntries
from pyspark_pulsar.read.planning.ledgers.data_loss import (
    advance_positions,
    check_loss,
    check_removed,
    remember,
)
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers

A = TopicPartition.parse("a")
B = TopicPartition.parse("b")
OLD = (Ledger(5, 10, 1, None, 1), Ledger(6, 4, 1, 1, 2), Ledger(7, 3, 1, 2, None))
NOW = TopicLedgers((Ledger(7, 3, 1, None, 3), Ledger(9, 0, 0, 3, None)))


def test_a_range_from_earliest_or_in_existing_ledgers_lost_nothing() -> None:
    for start in (EARLIEST, Position(7, 0), Position(7, 3), Position(8, 0), Position(9, 0)):
        check_loss(A, NOW, start, Position(9, 5), fail=True)
    check_loss(A, NOW, Position(5, 0), Position(5, 0), fail=True)
    check_loss(A, TopicLedgers(()), Position(5, 0), Position(6, 0), fail=True)


def test_the_error_names_the_topic_the_range_and_the_option() -> None:
    with pytest.raises(DataLossError) as caught:
        check_loss(A, NOW, Position(5, 8), Position(9, 5), fail=True)
    text = str(caught.value)
    for words in (A.name, "from 5:8:0 up to 9:5:0", "between 5:8:0 and 7:0:0", "failOnDataLoss"):
        assert words in text
    assert "entries" not in text


@pytest.mark.parametrize(
    ("start", "end", "lost"),
    [
        (Position(5, 8), Position(9, 5), 6),
        (Position(5, 8), Position(6, 1), 3),
        (Position(5, 8), Position(5, 9), 1),
        (Position(6, 4), Position(9, 5), 0),
        (Position(5, 10), Position(6, 0), 0),
    ],
)
def test_lost_entries_are_counted_if_their_ledgers_were_seen(
    start: Position, end: Position, lost: int
) -> None:
    previous = remember({}, TopicLedgers((*OLD[:2], Ledger(7, 1, 1, 2, None))))
    if lost == 0:
        check_loss(A, NOW, start, end, fail=True, previous=previous)
        return
    with pytest.raises(DataLossError, match=rf"\({lost} entries\)"):
        check_loss(A, NOW, start, end, fail=True, previous=previous)


def test_a_ledger_that_was_never_seen_closed_counts_as_lost() -> None:
    open_then = remember({}, TopicLedgers((Ledger(6, 4, 1, None, None), Ledger(7, 3, 1, None, None))))
    broken = remember(remember({}, TopicLedgers(OLD[:2])), NOW)
    for previous in (open_then, broken, {}):
        with pytest.raises(DataLossError):
            check_loss(A, NOW, Position(6, 4), Position(9, 5), fail=True, previous=previous)


def test_a_loss_is_logged_without_fail_on_data_loss(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_loss(A, NOW, Position(5, 8), Position(9, 5), fail=False)
    assert "5:8:0" in caplog.text
    assert "continues with the remaining messages" in caplog.text


def test_a_stream_continues_from_its_position() -> None:
    previous = {A: Position(5, 3), B: Position(2, 0)}
    ends = {A: Position(5, 9), B: EARLIEST}
    assert advance_positions(previous, ends, fail=True) == ({A: Position(5, 9), B: Position(2, 0)}, {})
    assert advance_positions(previous, {}, fail=True) == (previous, {})


def test_a_topic_that_was_created_again_is_read_from_its_first_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    previous, ends = {A: Position(5, 3)}, {A: Position(4, 1)}
    with pytest.raises(DataLossError, match=r"read up to 5:3:0.*before 4:1:0"):
        advance_positions(previous, ends, fail=True)
    with caplog.at_level(logging.WARNING):
        assert advance_positions(previous, ends, fail=False) == (ends, {A: EARLIEST})
    assert "from its first message on" in caplog.text


@pytest.mark.parametrize(
    ("removed", "says"),
    [
        (RemovedEntries(Position(9, 0), 4), r"left are at 9:0:0: at least 4 entries after 5:3:0 are gone"),
        (RemovedEntries(Position(9, 0), None), r"the ledger of 5:3:0 is gone.*deleted and made again"),
        (RemovedEntries(None, None), r"expected messages from 5:3:0, but the topic was deleted"),
    ],
)
def test_removed_entries_that_a_broker_reports_are_an_error_or_logged(
    removed: RemovedEntries, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    starts = {A: Position(5, 3), B: Position(1, 0)}
    assert check_removed(starts, {}, fail=True) == set()
    with pytest.raises(DataLossError, match=f"default/a: .*{says}"):
        check_removed(starts, {A: removed}, fail=True)
    with caplog.at_level(logging.WARNING):
        gone = check_removed(starts, {A: removed}, fail=False)
    assert gone == ({A} if removed.first_left is None else set())
    assert "continues with the remaining messages" in caplog.text
