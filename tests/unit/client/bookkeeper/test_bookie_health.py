"""Tests of the observations about bookies, and of the time for which the observations stay valid."""

from __future__ import annotations

import random

import pytest

from pyspark_pulsar.client.bookkeeper.bookie_health import BookieHealth
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.quarantine import MOST_KEYS, Quarantines, Remembered

A, B = BookieAddress("a", 1), BookieAddress("b", 1)
DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def quarantine_seconds(health: BookieHealth, clock: Clock, address: BookieAddress = A) -> float:
    """Return the rest of the bookie's quarantine, in whole seconds."""
    now = clock.now
    while health.is_quarantined(address):
        clock.now += 1
    seconds, clock.now = clock.now - now, now
    return seconds


def test_a_dead_bookie_is_avoided_for_longer_each_time(clock: Clock) -> None:
    memory = BookieHealth(clock)
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


def test_ten_thousand_faults_are_ten_minutes(clock: Clock) -> None:
    """A bookie can be silent for months while a stream runs."""
    memory = BookieHealth(clock)
    for fault in range(10_000):
        memory.quarantine(A)
        assert memory.is_quarantined(A)
        clock.now += 30 if fault % 2 else 599
    memory.quarantine(A)
    assert quarantine_seconds(memory, clock) == 600


def test_a_year_of_one_lost_connection_a_day(clock: Clock) -> None:
    """Each fault counts as the first fault, because the bookie worked for a day before the fault."""
    memory = BookieHealth(clock)
    for _ in range(365):
        memory.quarantine(A)
        assert quarantine_seconds(memory, clock) == 30
        clock.now += DAY


def test_one_fault_that_many_threads_report_counts_once(clock: Clock) -> None:
    memory = BookieHealth(clock)
    for _ in range(64):
        memory.quarantine(A)
        clock.now += 0.01
    assert quarantine_seconds(memory, clock) == pytest.approx(30, abs=1)


def test_a_year_of_addresses_that_change(clock: Clock) -> None:
    """Kubernetes assigns a pod another address at each start, so ended quarantines must not fill the memory."""
    seed = 20261126
    rng = random.Random(seed)
    quarantines: Quarantines[BookieAddress] = Quarantines(clock)
    remembered: Remembered[BookieAddress] = Remembered(DAY, clock)
    end = clock.now + 365 * DAY
    number = 0
    while clock.now < end:
        clock.now += rng.expovariate(1 / 600)
        number += 1
        address = BookieAddress(f"10.0.{number % 256}.{number // 256}", 3181)
        quarantines.begin(address)
        remembered.add(address)
        assert quarantines.seconds_left(address) == pytest.approx(30), seed
        assert address in remembered
        assert len(quarantines) < 100, seed
        assert len(remembered) < 300, seed
    assert number > 40_000


def test_no_more_keys_than_a_limit(clock: Clock) -> None:
    quarantines: Quarantines[int] = Quarantines(clock)
    remembered: Remembered[int] = Remembered(DAY, clock)
    for key in range(2 * MOST_KEYS):
        quarantines.begin(key)
        remembered.add(key)
    assert len(quarantines) == len(remembered) == MOST_KEYS
    assert quarantines.seconds_left(2 * MOST_KEYS - 1) == 30
    assert 2 * MOST_KEYS - 1 in remembered
    assert 0 not in remembered


def test_no_batches_are_requested_from_an_old_bookie_for_a_while(clock: Clock) -> None:
    memory = BookieHealth(clock)
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
