"""The locations that this worker cannot reach, remembered across splits and tasks. Executor only.

If a firewall drops packets, each attempt to read a range lasts for a whole timeout. So the worker avoids a location
after a long attempt that returned no entry. The first time, the worker avoids the location for 30 s. After each further
long attempt without an entry, this time is doubled, up to 10 minutes (`client.quarantine`). During that time, tasks
read from the next location. An attempt that fails immediately costs nothing, and does not predict the next attempt's
result.

A location is avoided only if another location can be read instead (`readFrom=auto`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from pyspark_pulsar.client.quarantine import Quarantines
from pyspark_pulsar.runtime import time

_LONG_SECONDS: Final = 1.0

LocationKey = tuple[Hashable, str]
"""The identity of a role at a cluster (`ConnectionOptions.identity`), and the name of a `Location`."""


class LocationHealth:
    """The locations to avoid, and the remaining time for each. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an empty record. `clock` returns monotonic seconds."""
        self._quarantines: Quarantines[LocationKey] = Quarantines(clock)

    def avoided_seconds(self, place: LocationKey) -> float:
        """Return the number of seconds for which the location is still avoided; 0 if tasks may read from it."""
        return self._quarantines.seconds_left(place)

    def gave_nothing(self, place: LocationKey, seconds: float) -> None:
        """Record that an attempt failed after `seconds` without a single entry."""
        if seconds >= _LONG_SECONDS:
            self._quarantines.begin(place)

    def works(self, place: LocationKey) -> None:
        """Forget the faults of a location that returned a range."""
        self._quarantines.end(place)


LOCATION_HEALTH: Final = LocationHealth()
