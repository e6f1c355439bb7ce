"""How long a call to a checkpoint may still take."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark_pulsar.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Deadline:
    """`at`: of `time.monotonic`."""

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds, seconds)

    def left(self, doing: str, fault: object = None) -> float:
        """Seconds, more than 0. Raises `DeadlineExceeded`, which names what was being done, and what stood against
        it."""
        left = self.at - time.monotonic()
        if left <= 0:
            why = f"; the last attempt: {fault}" if fault else ""
            raise DeadlineExceeded(
                f"{doing}: expected it to be done within {self.seconds:.0f} s, got no answer by then{why}; "
                f"check that the brokers can be reached"
            )
        return left
