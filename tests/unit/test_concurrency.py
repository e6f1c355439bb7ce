"""Several calls at a time: their order, their number, and what an error ends."""

from __future__ import annotations

import threading
import time

import pytest

from pyspark_pulsar.concurrency import map_concurrently

SECONDS = 20.0


def test_sixteen_calls_run_together_and_their_answers_keep_the_order_of_the_items() -> None:
    meeting = threading.Barrier(16)

    def wait(number: int) -> int:
        meeting.wait(SECONDS)
        return number * number

    assert map_concurrently(wait, range(32)) == [number * number for number in range(32)]


def test_a_single_call_runs_in_the_thread_of_the_caller() -> None:
    assert map_concurrently(lambda _: threading.get_ident(), [0]) == [threading.get_ident()]
    assert map_concurrently(str, []) == []


def test_the_first_error_is_raised_and_no_call_starts_after_it() -> None:
    begun, ended = [], []

    def work(number: int) -> None:
        begun.append(number)
        if number == 3:
            raise ValueError("the third")
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(ValueError, match="the third"):
        map_concurrently(work, range(1_000))
    count = len(begun)
    assert count < 1_000
    assert sorted(ended) == [number for number in sorted(begun) if number != 3]
    time.sleep(0.2)
    assert len(begun) == count
