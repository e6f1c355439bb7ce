"""Which places other than the broker this worker cannot reach, kept over splits and tasks. Executor only.

A firewall that drops packets in silence costs a whole timeout for each range that is tried. So after an attempt that
returned no entry and took long, its place is avoided: for 30 s, after each further such attempt for twice as long, at
most 10 minutes (`client.quarantine`). Tasks read from the next place meanwhile. An attempt that fails at once costs
nothing and says nothing about the next one.

The knowledge is only advice, and is used only where another place can stand in (`readFrom=auto`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Final

from pyspark_pulsar.client.quarantine import Quarantines

_LONG_SECONDS: Final = 1.0

LocationKey = tuple[Hashable, str]
"""The identity of a role at a cluster (`ConnectionOptions.identity`), and the name of a `Location`."""


class PlaceHealth:
    """Places to avoid, and for how long. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds and never goes back."""
        self._quarantines: Quarantines[LocationKey] = Quarantines(clock)

    def avoided_seconds(self, place: LocationKey) -> float:
        """Return for how many seconds the place is still avoided; 0 if tasks may read from it."""
        return self._quarantines.seconds_left(place)

    def gave_nothing(self, place: LocationKey, seconds: float) -> None:
        """Record that an attempt failed after `seconds` without a single entry."""
        if seconds >= _LONG_SECONDS:
            self._quarantines.begin(place)

    def works(self, place: LocationKey) -> None:
        """Forget the faults of a place that returned what it was asked for."""
        self._quarantines.end(place)


PLACE_HEALTH: Final = PlaceHealth()
