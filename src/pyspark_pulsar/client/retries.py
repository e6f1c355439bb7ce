"""Retries with growing pauses, for calls that fail for a temporary reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

from pyspark_pulsar.runtime import time

Answer = TypeVar("Answer")


def retry(
    call: Callable[[], Answer], passing: type[Exception], seconds: Callable[[Exception], float]
) -> Answer:
    """Repeat `call` until it returns without an error. The pauses between calls are random and at most 2 s.

    Args:
        call: The function to call. Repeating the call must be safe.
        passing: The class of temporary errors. Only these errors cause a repetition.
        seconds: A function that returns the time limit in seconds after an error. The time limit counts from the start
            of the first call.

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
        wait=wait_random_exponential(multiplier=0.1, max=2.0),
        sleep=time.sleep,
        reraise=True,
    )(call)
