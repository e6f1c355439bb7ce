"""Waits of a task that go on together."""

from __future__ import annotations

import threading
import time

import pytest

from pyspark_pulsar.write.at_once import at_once

SECONDS = 20.0


def test_sixteen_are_waited_for_together_and_their_answers_keep_their_order() -> None:
    meeting = threading.Barrier(16)

    def wait(number: int) -> int:
        meeting.wait(SECONDS)
        return number * number

    assert at_once(wait, range(32)) == [number * number for number in range(32)]


def test_one_is_waited_for_where_it_is_asked_for() -> None:
    assert at_once(lambda _: threading.get_ident(), [0]) == [threading.get_ident()]
    assert at_once(str, []) == []


def test_the_first_error_is_raised_and_nothing_goes_on_behind_it() -> None:
    begun, ended = [], []

    def work(number: int) -> None:
        begun.append(number)
        if number == 3:
            raise ValueError("the third")
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(ValueError, match="the third"):
        at_once(work, range(1_000))
    count = len(begun)
    assert count < 1_000
    assert sorted(ended) == [number for number in sorted(begun) if number != 3]
    time.sleep(0.2)
    assert len(begun) == count
