"""A query without news asks once a second at most, and one with news at once."""

from __future__ import annotations

from pyspark_pulsar.read.microbatch.idle_pause import MOST_SECONDS, IdlePause


class Clock:
    """Time passes only in sleep, and 10 ms at each question."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def asked(pause: IdlePause, clock: Clock, seconds: float) -> int:
    """How often a trigger without an interval asks in so many seconds."""
    end, count = clock.now + seconds, 0
    while clock.now < end:
        pause.wait_before_request()
        clock.now += 0.01
        count += 1
    return count


def test_less_and_less() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    assert asked(pause, clock, 10) < 100
    assert asked(pause, clock, 60) <= 61
    assert max(clock.slept) <= MOST_SECONDS


def test_news_end_it() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    asked(pause, clock, 60)
    clock.slept.clear()
    pause.note_news()
    pause.wait_before_request()
    assert clock.slept == []
    assert asked(pause, clock, 0.5) > 10


def test_a_query_that_has_micro_batches_of_another_source_is_not_held_up() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    for _ in range(100):
        pause.wait_before_request()
        clock.now += 0.2
        pause.note_news()
    assert clock.slept == []


def test_a_slow_trigger_waits_no_longer() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    for _ in range(20):
        pause.wait_before_request()
        clock.now += 5
    assert clock.slept == []
