"""Time limits for retries of temporary failures of brokers."""

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
        not_ready_seconds: The limit after a broker has answered that it is not ready. The broker is starting, or its
            metadata store is away for a moment.

    """

    seconds: float
    not_ready_seconds: float

    def retrying(self, attempt: Callable[[], Answer]) -> Answer:
        """Call `attempt` until it has no temporary failure, with pauses of up to 2 s. Raise the last error."""
        was_reached = False

        def seconds(fault: Exception) -> float:
            """Return the limit. A broker that answered before and is away now is probably restarting."""
            nonlocal was_reached
            was_reached = was_reached or isinstance(fault, NotReady)
            return self.not_ready_seconds if was_reached else self.seconds

        return retry(attempt, ConnectionFailed, seconds)
