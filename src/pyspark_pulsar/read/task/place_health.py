"""Which places past the broker this worker cannot reach, kept over splits and tasks. Executor only.

A firewall that drops packets in silence costs a whole timeout for each range that is tried. So after an attempt that
gave nothing and took long, its place is left alone: for 30 s, then after each further such attempt twice as long, up to
10 minutes. Whoever reads takes the next place meanwhile. An attempt that fails at once costs nothing and says nothing
of the next one.

Only advice, and only where another place stands in (`readFrom=auto`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

_LONG_SECONDS: Final = 1.0
_FIRST_SECONDS: Final = 30.0
_MOST_SECONDS: Final = 600.0

Place = tuple[Hashable, str]
"""Who asks which cluster (`ConnectionOptions.identity`), and the name of a `Location`."""


@dataclass(slots=True)
class _Avoided:
    until: float
    seconds: float


class PlaceHealth:
    """Safe in threads, since each call is one step on a dictionary."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._avoided: dict[Place, _Avoided] = {}

    def avoided_seconds(self, place: Place) -> float:
        """For how long the place is still to be left alone; 0 where it may be asked."""
        avoided = self._avoided.get(place)
        return 0.0 if avoided is None else max(0.0, avoided.until - self._clock())

    def gave_nothing(self, place: Place, seconds: float) -> None:
        """An attempt failed after so long, without a single entry."""
        if seconds < _LONG_SECONDS:
            return
        former = self._avoided.get(place)
        pause = _FIRST_SECONDS if former is None else min(_MOST_SECONDS, 2 * former.seconds)
        self._avoided[place] = _Avoided(self._clock() + pause, pause)

    def works(self, place: Place) -> None:
        """It gave what it was asked for."""
        self._avoided.pop(place, None)


PLACE_HEALTH: Final = PlaceHealth()
