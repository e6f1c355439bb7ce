"""Hosts to avoid for a while after a fault, and facts to remember for a limited time.

    fault                                                      | duration of the quarantine
    the first fault of the host                                | 30 s
    600 s or more after the end of the last quarantine         | 30 s
    the first fault after the host answered (`end` was called) | 30 s
    within 1 s after the last quarantine began                 | unchanged: several threads report one fault
    any other fault                                            | twice the last duration, at most 600 s

`Quarantines` and `Remembered` store at most `MOST_KEYS` keys and drop keys that no longer matter, because hosts get new
addresses while a process runs. Both classes are safe to use from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from pyspark_pulsar.runtime import threading, time

FIRST_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 600.0
MOST_KEYS: Final = 1024
_SAME_FAULT_SECONDS: Final = 1.0

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Term:
    start: float
    seconds: float

    @property
    def end(self) -> float:
        return self.start + self.seconds


class Quarantines(Generic[Key]):
    """Keys to avoid for a while after a fault. Each further fault lengthens the quarantine of its key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without keys. `clock` returns seconds that never decrease."""
        self._clock = clock
        self._lock = threading.Lock()
        self._terms: dict[Key, _Term] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def begin(self, key: Key) -> None:
        """Record a fault of the key, and begin its quarantine now."""
        with self._lock:
            now = self._clock()
            last = self._terms.get(key)
            if last is not None and now - last.start < _SAME_FAULT_SECONDS:
                return
            self._terms.pop(key, None)
            for stale in [other for other, term in self._terms.items() if now - term.end >= LONGEST_SECONDS]:
                del self._terms[stale]
            if len(self._terms) >= MOST_KEYS:
                del self._terms[next(iter(self._terms))]
            is_first = last is None or now - last.end >= LONGEST_SECONDS
            seconds = FIRST_SECONDS if is_first or last is None else min(LONGEST_SECONDS, 2 * last.seconds)
            self._terms[key] = _Term(now, seconds)

    def end(self, key: Key) -> None:
        """Forget all faults of the key."""
        with self._lock:
            self._terms.pop(key, None)

    def seconds_left(self, key: Key) -> float:
        """Return the rest of the key's quarantine in seconds, or 0 if the key has no quarantine."""
        term = self._terms.get(key)
        return 0.0 if term is None else max(0.0, term.end - self._clock())


class Remembered(Generic[Key]):
    """A set of keys that forgets each key a fixed time after the key was last added."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without keys. `clock` returns seconds that never decrease."""
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._ends: dict[Key, float] = {}
        """The time at which the set forgets each key, in ascending order of the times."""

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, key: Key) -> None:
        """Add the key, or restart its time if the set contains the key already."""
        with self._lock:
            now = self._clock()
            self._ends.pop(key, None)
            while self._ends:
                oldest, end = next(iter(self._ends.items()))
                if end > now and len(self._ends) < MOST_KEYS:
                    break
                del self._ends[oldest]
            self._ends[key] = now + self._seconds

    def discard(self, key: Key) -> None:
        """Forget the key."""
        with self._lock:
            self._ends.pop(key, None)

    def __contains__(self, key: Key) -> bool:
        return self._ends.get(key, 0.0) > self._clock()
