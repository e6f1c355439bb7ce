"""Retries with growing pauses, for calls that fail for a temporary reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from pyspark_pulsar.runtime import random, time

Answer = TypeVar("Answer")


def pause_seconds(failures: int) -> float:
    """Return a random pause before a retry, in seconds. With each failure, the maximum doubles, from 0.1 s to 2 s.

    Args:
        failures: The number of failures in a row, at least 1.

    """
    return random.uniform(0.0, min(2.0, 0.1 * 2 ** min(failures - 1, 10)))


def retry(
    call: Callable[[], Answer], passing: type[Exception], seconds: Callable[[Exception], float]
) -> Answer:
    """Repeat `call` until it returns without an error, with the pauses of `pause_seconds`.

    Args:
        call: The function to call. Repeating the call must be safe.
        passing: The class of temporary errors. Only these errors cause a repetition.
        seconds: A function that maps a temporary error to the time limit in seconds. The time limit counts from the
            start of the first call.

    Returns:
        The result of `call`.

    Raises:
        Exception: The last temporary error, if the next call would start after the time limit. Errors of other
            classes are raised immediately.

    """
    began = time.monotonic()

    def is_over(state: RetryCallState) -> bool:
        fault = state.outcome.exception() if state.outcome is not None else None
        next_start = time.monotonic() - began + state.upcoming_sleep
        return isinstance(fault, Exception) and next_start >= seconds(fault)

    return Retrying(
        retry=retry_if_exception_type(passing),
        stop=is_over,
        wait=lambda state: pause_seconds(state.attempt_number),
        sleep=time.sleep,
        reraise=True,
    )(call)
