"""Retries of what fails for a passing reason, with pauses that grow."""

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
        call: May be repeated.
        passing: The class of the errors after which `call` is repeated.
        seconds: How long `call` is repeated, counted from its first start; asked after each error.

    Raises:
        Exception: The last error, once no further call can start in time, and at once an error of another class.

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
