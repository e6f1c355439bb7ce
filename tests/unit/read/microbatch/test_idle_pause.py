"""A query without news sends requests at most once a second, and a query with news without a pause."""

from __future__ import annotations

from pyspark_pulsar.read.microbatch.idle_pause import MOST_SECONDS, IdlePause


class Clock:
    """A clock that advances only in sleep, and by 10 ms per request."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def count_requests(pause: IdlePause, clock: Clock, seconds: float) -> int:
    """Return the number of requests of a trigger without an interval, in a number of seconds."""
    end, count = clock.now + seconds, 0
    while clock.now < end:
        pause.wait_before_request()
        clock.now += 0.01
        count += 1
    return count


def test_requests_become_less_frequent() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    assert count_requests(pause, clock, 10) < 100
    assert count_requests(pause, clock, 60) <= 61
    assert max(clock.slept) <= MOST_SECONDS


def test_news_end_the_pause() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    count_requests(pause, clock, 60)
    clock.slept.clear()
    pause.note_news()
    pause.wait_before_request()
    assert clock.slept == []
    assert count_requests(pause, clock, 0.5) > 10


def test_micro_batches_of_another_source_end_the_pause() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    for _ in range(100):
        pause.wait_before_request()
        clock.now += 0.2
        pause.note_news()
    assert clock.slept == []


def test_a_slow_trigger_has_no_additional_pause() -> None:
    clock = Clock()
    pause = IdlePause(clock, clock.sleep)
    for _ in range(20):
        pause.wait_before_request()
        clock.now += 5
    assert clock.slept == []
