"""Locations that this worker cannot reach, remembered across splits and tasks. Executor only.

A firewall that drops packets costs a whole timeout for each attempt to read a range. So the worker avoids a location
after a long attempt that returned no entry. It does so for 30 s, then twice as long after each such attempt, up to 10
minutes (`client.quarantine`). During that time tasks read from the next location. An attempt that fails immediately
costs nothing, and does not predict the next one.

This knowledge is only advice. It is used only if another location can be read instead (`readFrom=auto`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Final

from pyspark_pulsar.client.quarantine import Quarantines

_LONG_SECONDS: Final = 1.0

LocationKey = tuple[Hashable, str]
"""The identity of a role at a cluster (`ConnectionOptions.identity`), and the name of a `Location`."""


class LocationHealth:
    """The locations to avoid, and for how long. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds and never goes back."""
        self._quarantines: Quarantines[LocationKey] = Quarantines(clock)

    def avoided_seconds(self, place: LocationKey) -> float:
        """Return for how many seconds the location is still avoided; 0 if tasks may read from it."""
        return self._quarantines.seconds_left(place)

    def gave_nothing(self, place: LocationKey, seconds: float) -> None:
        """Record that an attempt failed after `seconds` without a single entry."""
        if seconds >= _LONG_SECONDS:
            self._quarantines.begin(place)

    def works(self, place: LocationKey) -> None:
        """Forget the faults of a location that returned a range."""
        self._quarantines.end(place)


LOCATION_HEALTH: Final = LocationHealth()
