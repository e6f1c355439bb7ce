"""A location that a worker cannot reach is avoided, each time for longer."""

from __future__ import annotations

from pyspark_pulsar.read.task.place_health import LocationHealth

PLACE = ("pulsar://h:1", "bookie")


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_each_pause_is_longer_than_the_one_before() -> None:
    clock = Clock()
    health = LocationHealth(clock)
    pauses = []
    for _ in range(8):
        health.gave_nothing(PLACE, 5.0)
        pauses.append(health.avoided_seconds(PLACE))
        assert health.avoided_seconds(("pulsar://h:1", "tiered")) == 0
        clock.now += pauses[-1] - 1
        assert health.avoided_seconds(PLACE) == 1
        clock.now += 1
        assert health.avoided_seconds(PLACE) == 0
    assert pauses == [30, 60, 120, 240, 480, 600, 600, 600]


def test_a_success_resets_the_pauses() -> None:
    clock = Clock()
    health = LocationHealth(clock)
    health.gave_nothing(PLACE, 5.0)
    health.works(PLACE)
    assert health.avoided_seconds(PLACE) == 0
    health.gave_nothing(PLACE, 5.0)
    assert health.avoided_seconds(PLACE) == 30


def test_a_location_that_fails_immediately_is_not_avoided() -> None:
    health = LocationHealth(Clock())
    health.gave_nothing(PLACE, 0.2)
    assert health.avoided_seconds(PLACE) == 0
