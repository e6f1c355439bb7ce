"""Observations of this process about bookies, shared by its splits and queries.

The observations are only hints: without them, or if they are wrong, a process reads the same entries more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.quarantine import Quarantines, Remembered
from pyspark_pulsar.runtime import time

# A bookie that was killed during an answer looks like a bookie that does not support BATCH_READ.
_NO_BATCHES_SECONDS: Final = 600.0
# Operators seldom downgrade bookies, and a bookie with an old version seldom receives the address of a newer one.
_BATCHES_SECONDS: Final = 86_400.0


class BookieHealth:
    """Bookies to use last, and bookies that support BATCH_READ. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without observations. `clock` returns seconds and never goes back."""
        self._quarantines: Quarantines[BookieAddress] = Quarantines(clock)
        self._without_batches: Remembered[BookieAddress] = Remembered(_NO_BATCHES_SECONDS, clock)
        self._with_batches: Remembered[BookieAddress] = Remembered(_BATCHES_SECONDS, clock)

    def quarantine(self, address: BookieAddress) -> None:
        """Use the bookie last for a while, because it is dead, unreachable or silent."""
        self._quarantines.begin(address)

    def has_answered(self, address: BookieAddress) -> None:
        """Forget the faults of a bookie that has answered during its quarantine."""
        self._quarantines.end(address)

    def is_quarantined(self, address: BookieAddress) -> bool:
        """Return whether to use the bookie last."""
        return self._quarantines.seconds_left(address) > 0

    def answers_batches(self, address: BookieAddress) -> None:
        """Record that the bookie has answered a BATCH_READ."""
        self._with_batches.add(address)
        self._without_batches.discard(address)

    def refuses_batches(self, address: BookieAddress) -> None:
        """Record that the bookie does not support BATCH_READ: BookKeeper before 4.17 then closes the connection."""
        self._without_batches.add(address)

    def has_answered_batches(self, address: BookieAddress) -> bool:
        """Return whether the bookie has answered a BATCH_READ within the last day."""
        return address in self._with_batches

    def knows_batches(self, address: BookieAddress) -> bool:
        """Return whether to try a BATCH_READ."""
        return address not in self._without_batches


BOOKIE_HEALTH: Final = BookieHealth()
