"""For how long what fails for a passing reason is tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pyspark_pulsar.client.broker.connection.server_error import NotReady
from pyspark_pulsar.client.retries import retry
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
        was_reached = False

        def seconds(fault: Exception) -> float:
            """A broker that was reached once and is away now is being restarted."""
            nonlocal was_reached
            was_reached = was_reached or isinstance(fault, NotReady)
            return self.not_ready_seconds if was_reached else self.seconds

        return retry(attempt, ConnectionFailed, seconds)
