"""What is asked for before a plan needs it, while something else is waited for. Driver only."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

_SECONDS: Final = 5.0
"""A plan is made right after that; what it does not take is not kept for a later one."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Ahead(Generic[Answer]):
    """Asked for now."""

    answer: Future[Answer]
    _asked: float = field(default_factory=time.monotonic)

    @property
    def is_recent(self) -> bool:
        return time.monotonic() - self._asked <= _SECONDS
