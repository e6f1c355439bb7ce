"""Time limits for retrying after temporary failures of brokers."""

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
    """Time limits for retries, in seconds.

    Attributes:
        seconds: The limit while a broker is unreachable.
        not_ready_seconds: The limit after a broker has answered that it is not ready. Possible reasons are that the
            broker is starting, or that its metadata store is temporarily unavailable.

    """

    seconds: float
    not_ready_seconds: float

    def retrying(self, attempt: Callable[[], Answer]) -> Answer:
        """Call `attempt` again after each temporary failure, pausing up to 2 s. At the limit, raise the failure."""
        was_reached = False

        def seconds(fault: Exception) -> float:
            """Return the limit in seconds. A broker that answered and is now unreachable is probably restarting."""
            nonlocal was_reached
            was_reached = was_reached or isinstance(fault, NotReady)
            return self.not_ready_seconds if was_reached else self.seconds

        return retry(attempt, ConnectionFailed, seconds)
