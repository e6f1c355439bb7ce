"""What a task makes of a topic that shows nothing any more."""

from __future__ import annotations

import time

import pytest

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import LogEnd
from pyspark_pulsar.errors import DataLossError, DeadlineExceeded
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.topic import TopicPartition

START, END = Position(7, 5), Position(7, 90)


class Idle:
    """A consumer that gets nothing."""

    def __init__(self, tail: LogEnd) -> None:
        self._tail = tail

    def log_end(self, _: float) -> LogEnd:
        return self._tail

    def add_permits(self, _: int) -> None:
        """As many as it likes."""


def idle_entries(tail: LogEnd) -> BrokerEntries:
    options = ReadOptions(service_url="pulsar://localhost:1", topic="t")
    partition = TopicPartition.parse("persistent://public/default/t")
    entries = BrokerEntries(BrokerClient(options), partition, START, END, permits=1, poll_seconds=1.0)
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
        idle_entries(tail)._can_come(time.monotonic() + 1)


def test_messages_that_are_hidden_for_now_are_waited_for() -> None:
    """A topic whose transaction buffer has not been recovered: it shows nothing, but knows the position."""
    entries = idle_entries(LogEnd(EARLIEST, START))
    assert entries._can_come(time.monotonic() + 1)
    with pytest.raises(DeadlineExceeded, match="shows no message of the topic at all"):
        entries._take(time.monotonic() - 1)
