"""The deadline of a call to a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.runtime import time


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time at which a call fails.

    Attributes:
        at: The time of the deadline, in seconds on the clock of `time.monotonic`.
        seconds: The seconds from the start of the call to the deadline, for the error text.

    """

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline that is `seconds` from now."""
        return cls(time.monotonic() + seconds, seconds)

    def seconds_left(self, doing: str, fault: object = None) -> float:
        """Return the number of seconds until the deadline, which is more than 0.

        Args:
            doing: The name of the caller's activity, for the error text.
            fault: The error of the last attempt, for the error text.

        Raises:
            DeadlineExceeded: The deadline has passed.

        """
        left = self.at - time.monotonic()
        if left <= 0:
            why = f"; the last attempt: {fault}" if fault else ""
            raise DeadlineExceeded(
                f"{doing}: expected to finish within {self.seconds:.0f} s, got no answer{why}; check that the "
                f"brokers can be reached"
            )
        return left
