"""Retries of calls that fail for a temporary reason, with growing pauses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

from pyspark_pulsar.runtime import time

Answer = TypeVar("Answer")


def retry(
    call: Callable[[], Answer], passing: type[Exception], seconds: Callable[[Exception], float]
) -> Answer:
    """Call `call` until it returns, with random pauses of at most 2 s.

    Args:
        call: The call, which is safe to repeat.
        passing: The class of the errors after which `call` is repeated.
        seconds: Return the time limit for repetitions after an error, counted from the first start of `call`.

    Raises:
        Exception: The last error, if no further call can start in time. An error of another class is raised
            immediately.

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
