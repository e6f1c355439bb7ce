"""What a process knows about bookies, and for how long."""

from __future__ import annotations

import pytest

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.health import BookieHealth

A, B = BookieAddress("a", 1), BookieAddress("b", 1)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("pyspark_pulsar.client.bookkeeper.health.time", clock)
    return clock


def test_a_dead_bookie_is_avoided_for_longer_each_time(clock: Clock) -> None:
    memory = BookieHealth()
    assert not memory.is_quarantined(A)
    for seconds in (30, 60, 120, 240, 480, 600, 600):
        memory.quarantine(A)
        clock.now += seconds - 1
        assert memory.is_quarantined(A)
        assert not memory.is_quarantined(B)
        clock.now += 1
        assert not memory.is_quarantined(A)
    memory.quarantine(A)
    memory.has_answered(A)
    assert not memory.is_quarantined(A)
    memory.quarantine(A)
    clock.now += 30
    assert not memory.is_quarantined(A)


def test_an_old_bookie_is_not_asked_for_batches_for_a_while(clock: Clock) -> None:
    memory = BookieHealth()
    assert memory.knows_batches(A)
    assert not memory.has_answered_batches(A)
    memory.refuses_batches(A)
    assert not memory.knows_batches(A)
    assert memory.knows_batches(B)
    clock.now += 600
    assert memory.knows_batches(A)
    memory.refuses_batches(A)
    memory.answers_batches(A)
    assert memory.knows_batches(A)
    assert memory.has_answered_batches(A)
