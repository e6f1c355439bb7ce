"""A task's reaction to a topic that shows no more messages."""

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
    """A consumer that receives nothing."""

    def __init__(self, tail: LogEnd) -> None:
        self._tail = tail

    def log_end(self, _: float) -> LogEnd:
        return self._tail

    def add_permits(self, _: int) -> None:
        """Accept any number."""

    def close(self) -> None:
        """Do nothing."""


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
def test_an_end_before_the_range_is_a_loss(tail: LogEnd) -> None:
    with pytest.raises(DataLossError, match="now ends at"):
        idle_entries(tail)._may_continue(time.monotonic() + 1)


@pytest.mark.parametrize(("start", "stand"), [(START, START), (EARLIEST, Position(7, 0))])
def test_a_task_waits_for_messages_that_are_hidden(start: Position, stand: Position) -> None:
    """The topic's transaction buffer is not recovered, so it shows no message, but knows the position."""
    entries = idle_entries(LogEnd(EARLIEST, stand), start=start)
    assert entries._may_continue(time.monotonic() + 1)
    with pytest.raises(DeadlineExceeded, match="shows no message of the topic at all"):
        entries._take(time.monotonic() - 1)


SEGMENT = "segment://public/default/t/0000-ffff-0"


def test_an_emptied_topic_does_not_count_as_hidden() -> None:
    with pytest.raises(DataLossError, match="now ends at"):
        idle_entries(LogEnd(EARLIEST, Position(9, 0)), start=EARLIEST)._may_continue(time.monotonic() + 1)


def test_a_task_waits_for_the_open_last_transaction_of_a_segment() -> None:
    """The end from the broker does not matter, because it may be outdated."""
    entries = idle_entries(LogEnd(EARLIEST, START), SEGMENT)
    assert entries._may_continue(time.monotonic() + 1)
    assert entries._consumer is not None


def test_a_segment_ends_at_an_aborted_last_transaction() -> None:
    """The broker has moved past the transaction a cursor that began after the received entries."""
    assert not idle_entries(LogEnd(EARLIEST, END), SEGMENT)._may_continue(time.monotonic() + 1)


def test_only_a_new_consumer_shows_the_end_of_a_segment() -> None:
    entries = idle_entries(LogEnd(EARLIEST, END), SEGMENT)
    entries._next = Position(7, 80)
    assert entries._may_continue(time.monotonic() + 1)
    assert entries._consumer is None


def test_a_cursor_past_the_ledger_of_a_segment_is_a_loss() -> None:
    with pytest.raises(DataLossError, match="has moved on to 9:0"):
        idle_entries(LogEnd(EARLIEST, Position(9, 0)), SEGMENT)._may_continue(time.monotonic() + 1)


class FullConsumersAhead:
    """Consumers of later splits, whose entries fill the connection's buffer."""

    def __init__(self, taken: Any = None) -> None:
        self.has_made_room = False
        self._taken = taken

    def take(self, partition: TopicPartition, start: Position) -> Any:
        del partition, start
        return self._taken

    def make_room(self) -> None:
        self.has_made_room = True


@pytest.mark.parametrize("is_full", [True, False])
def test_a_reader_without_entries_drops_prepared_consumers(*, is_full: bool) -> None:
    entries = idle_entries(LogEnd(END, START))
    entries._consumer.connection = SimpleNamespace(is_full=is_full)  # type: ignore[union-attr, assignment]
    entries._ahead = ahead = FullConsumersAhead()  # type: ignore[assignment]
    assert entries._may_continue(time.monotonic() + 1)
    assert ahead.has_made_room == is_full


def test_the_prepared_consumer_of_the_task_is_used() -> None:
    entries = idle_entries(LogEnd(END, START))
    consumer, entries._consumer = entries._consumer, None
    entries._ahead = FullConsumersAhead((consumer, 86))  # type: ignore[assignment]
    assert entries._subscribed(time.monotonic() + 1) is consumer
    assert entries._granted == 86
    assert entries._subscribed_at == START
