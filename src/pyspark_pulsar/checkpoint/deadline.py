"""Deadlines of calls to a checkpoint."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark_pulsar.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time at which a call fails.

    Attributes:
        at: The time on the clock of `time.monotonic`, in seconds.
        seconds: The duration that the call was allowed, for the error text.

    """

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return a deadline this many seconds from now."""
        return cls(time.monotonic() + seconds, seconds)

    def seconds_left(self, doing: str, fault: object = None) -> float:
        """Return the remaining seconds, more than 0.

        Args:
            doing: The activity, for the error text.
            fault: The failure of the last attempt, for the error text.

        Raises:
            DeadlineExceeded: The time is over.

        """
        left = self.at - time.monotonic()
        if left <= 0:
            why = f"; the last attempt: {fault}" if fault else ""
            raise DeadlineExceeded(
                f"{doing}: expected to finish within {self.seconds:.0f} s, got no answer by then{why}; check that the "
                f"brokers can be reached"
            )
        return left
