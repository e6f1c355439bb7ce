"""What a task makes of a topic that shows nothing any more."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import LogEnd
from pyspark_pulsar.errors import DataLossError, DeadlineExceeded
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.broker import BrokerEntries

START, END = Position(7, 5), Position(7, 90)


class Idle:
    """A consumer that gets nothing."""

    def __init__(self, tail: LogEnd) -> None:
        self._tail = tail

    def log_end(self, _: float) -> LogEnd:
        return self._tail

    def add_permits(self, _: int) -> None:
        """As many as it likes."""

    def close(self) -> None:
        """Nobody listens."""


def idle_entries(
    tail: LogEnd, name: str = "persistent://public/default/t", start: Position = START
) -> BrokerEntries:
    options = ReadOptions(service_url="pulsar://localhost:1", topic="t")
    partition = TopicPartition.parse(name)
    entries = BrokerEntries(BrokerClient(options), partition, start, END, permits=1, poll_seconds=1.0)
    entries._consumer = Idle(tail)  # type: ignore[assignment]
    entries._idle_since = time.monotonic()
    return entries


@pytest.mark.parametrize(
    "tail",
    [LogEnd(EARLIEST, Position(9, 0)), LogEnd(Position(7, 5), START), LogEnd(Position(7, 3), START)],
    ids=["made again", "truncated", "shorter"],
)
def test_an_end_before_the_range_is_loss(tail: LogEnd) -> None:
    with pytest.raises(DataLossError, match="now ends at"):
        idle_entries(tail)._may_continue(time.monotonic() + 1)


@pytest.mark.parametrize(("start", "stand"), [(START, START), (EARLIEST, Position(7, 0))])
def test_messages_that_are_hidden_for_now_are_waited_for(start: Position, stand: Position) -> None:
    """A topic whose transaction buffer has not been recovered: it shows nothing, but knows the position."""
    entries = idle_entries(LogEnd(EARLIEST, stand), start=start)
    assert entries._may_continue(time.monotonic() + 1)
    with pytest.raises(DeadlineExceeded, match="shows no message of the topic at all"):
        entries._take(time.monotonic() - 1)


SEGMENT = "segment://public/default/t/0000-ffff-0"


def test_a_topic_that_was_emptied_is_not_taken_for_hidden() -> None:
    with pytest.raises(DataLossError, match="now ends at"):
        idle_entries(LogEnd(EARLIEST, Position(9, 0)), start=EARLIEST)._may_continue(time.monotonic() + 1)


def test_a_segment_whose_last_transaction_is_open_is_waited_for() -> None:
    """Whatever end the broker tells, which may be of former times."""
    entries = idle_entries(LogEnd(EARLIEST, START), SEGMENT)
    assert entries._may_continue(time.monotonic() + 1)
    assert entries._consumer is not None


def test_a_segment_whose_last_transaction_is_aborted_is_over() -> None:
    """The broker has moved a cursor past it that began behind what came."""
    assert not idle_entries(LogEnd(EARLIEST, END), SEGMENT)._may_continue(time.monotonic() + 1)


def test_only_a_new_consumer_tells_that_a_segment_is_over() -> None:
    entries = idle_entries(LogEnd(EARLIEST, END), SEGMENT)
    entries._next = Position(7, 80)
    assert entries._may_continue(time.monotonic() + 1)
    assert entries._consumer is None


def test_a_cursor_that_left_the_ledger_of_a_segment_is_loss() -> None:
    with pytest.raises(DataLossError, match="has moved on to 9:0"):
        idle_entries(LogEnd(EARLIEST, Position(9, 0)), SEGMENT)._may_continue(time.monotonic() + 1)


class Ahead:
    """Of further splits; what waits for them fills the connection's buffer."""

    def __init__(self, taken: Any = None) -> None:
        self.has_made_room = False
        self._taken = taken

    def take(self, partition: TopicPartition, start: Position) -> Any:
        del partition, start
        return self._taken

    def make_room(self) -> None:
        self.has_made_room = True


@pytest.mark.parametrize("is_full", [True, False])
def test_who_starves_lets_go_of_what_waits_for_further_splits(*, is_full: bool) -> None:
    entries = idle_entries(LogEnd(END, START))
    entries._consumer.connection = SimpleNamespace(is_full=is_full)  # type: ignore[union-attr, assignment]
    entries._ahead = ahead = Ahead()  # type: ignore[assignment]
    assert entries._may_continue(time.monotonic() + 1)
    assert ahead.has_made_room == is_full


def test_the_consumer_that_the_task_has_made_ahead_is_taken() -> None:
    entries = idle_entries(LogEnd(END, START))
    consumer, entries._consumer = entries._consumer, None
    entries._ahead = Ahead((consumer, 86))  # type: ignore[assignment]
    assert entries._subscribed(time.monotonic() + 1) is consumer
    assert entries._granted == 86
    assert entries._subscribed_at == START
