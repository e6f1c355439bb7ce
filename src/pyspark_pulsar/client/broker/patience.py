"""For how long what fails for a passing reason is tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_before_delay,
    wait_random_exponential,
)

from pyspark_pulsar.client.broker.server_error import NotReady
from pyspark_pulsar.errors import ConnectionFailed

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Patience:
    """`seconds`: with what cannot be reached. `not_ready_seconds`: with brokers that answer that they are not ready, so
    that an address is right and they begin to serve, or their metadata store is away for a moment."""

    seconds: float
    not_ready_seconds: float

    def retrying(self, attempt: Callable[[], Answer]) -> Answer:
        """Call `attempt` until it does not fail for a passing reason, with pauses of up to 2 s. Raises what the last
        one has raised."""
        is_there = False

        def is_over(state: RetryCallState) -> bool:
            """A broker that was there is started again, where it is not there any more."""
            nonlocal is_there
            fault = state.outcome.exception() if state.outcome is not None else None
            is_there = is_there or isinstance(fault, NotReady)
            return stop_before_delay(self.not_ready_seconds if is_there else self.seconds)(state)

        retry = Retrying(
            retry=retry_if_exception_type(ConnectionFailed),
            stop=is_over,
            wait=wait_random_exponential(multiplier=0.1, max=2.0),
            reraise=True,
        )
        return retry(attempt)
