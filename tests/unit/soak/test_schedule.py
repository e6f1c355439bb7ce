"""A soak's schedule: the same for the same seed, and as much as the soak promises."""

from __future__ import annotations

from collections import Counter

import pytest
from soak.schedule import HALF_HOUR, INTERRUPTIONS, schedule


def test_a_seed_repeats_its_schedule() -> None:
    assert schedule(7, 1800) == schedule(7, 1800)
    assert schedule(7, 1800) != schedule(8, 1800)


def test_what_is_random_about_an_event_is_repeated_too() -> None:
    event = schedule(7, 60)[0]
    assert event.chance().random() == event.chance().random()


@pytest.mark.parametrize("seed", range(5))
def test_half_an_hour_has_at_least_forty_interruptions(seed: int) -> None:
    counts = Counter(event.kind for event in schedule(seed, 1800))
    assert counts == HALF_HOUR
    assert sum(counts[kind] for kind in INTERRUPTIONS) >= 40


def test_a_short_one_has_every_kind_of_event_in_order() -> None:
    events = schedule(1, 60)
    assert {event.kind for event in events} == set(HALF_HOUR)
    assert events == sorted(events, key=lambda event: event.at)
    assert all(0 <= event.at <= 60 for event in events)
