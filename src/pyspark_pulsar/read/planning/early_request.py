"""Requests that the driver sends before a plan needs the answers, while the driver waits for another server.

Driver only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from pyspark_pulsar.runtime import Future, time

_SECONDS: Final = 5.0
"""Maximum age of an answer that a plan uses, counted from the early request. An older request is sent again."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class EarlyRequest(Generic[Answer]):
    """A request that was sent, its future answer, and the time when it was sent."""

    answer: Future[Answer]
    _sent: float = field(default_factory=time.monotonic)

    @property
    def is_recent(self) -> bool:
        return time.monotonic() - self._sent <= _SECONDS
