"""A request that is sent before a plan needs its answer, while the driver waits for another one. Driver only."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

_SECONDS: Final = 5.0
"""How long an answer is good for a plan. A later plan requests its own."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class EarlyRequest(Generic[Answer]):
    """A request that is sent now."""

    answer: Future[Answer]
    _sent: float = field(default_factory=time.monotonic)

    @property
    def is_recent(self) -> bool:
        return time.monotonic() - self._sent <= _SECONDS
