"""Retries of calls that fail for a temporary reason, with growing pauses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_before_delay,
    wait_random_exponential,
)

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

    def is_over(state: RetryCallState) -> bool:
        fault = state.outcome.exception() if state.outcome is not None else None
        return isinstance(fault, Exception) and stop_before_delay(seconds(fault))(state)

    return Retrying(
        retry=retry_if_exception_type(passing),
        stop=is_over,
        wait=wait_random_exponential(multiplier=0.1, max=2.0),
        reraise=True,
    )(call)
