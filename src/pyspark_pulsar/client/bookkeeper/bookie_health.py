"""Observations about bookies, shared by all splits and queries of a process.

The observations are only hints. Missing or wrong observations make reads slower, but do not change the entries read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.quarantine import Quarantines, Remembered
from pyspark_pulsar.runtime import time

# The time is short, because a bookie that crashes during an answer looks like a bookie that does not support
# BATCH_READ.
_NO_BATCHES_SECONDS: Final = 600.0
# The time is long, because a bookie at the same address seldom changes to an older version of BookKeeper.
_BATCHES_SECONDS: Final = 86_400.0


class BookieHealth:
    """The bookies to request last, and the bookies that support BATCH_READ.

    Instances are safe to use from several threads.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without observations. `clock` returns seconds that never decrease."""
        self._quarantines: Quarantines[BookieAddress] = Quarantines(clock)
        self._without_batches: Remembered[BookieAddress] = Remembered(_NO_BATCHES_SECONDS, clock)
        self._with_batches: Remembered[BookieAddress] = Remembered(_BATCHES_SECONDS, clock)

    def quarantine(self, address: BookieAddress) -> None:
        """Record that the bookie is down, unreachable or silent. Readers request this bookie last for a while."""
        self._quarantines.begin(address)

    def has_answered(self, address: BookieAddress) -> None:
        """Record that the bookie answered during its quarantine: end the quarantine and forget all faults."""
        self._quarantines.end(address)

    def is_quarantined(self, address: BookieAddress) -> bool:
        """Return whether readers request the bookie last, because of a recent fault."""
        return self._quarantines.seconds_left(address) > 0

    def answers_batches(self, address: BookieAddress) -> None:
        """Record that the bookie answered a BATCH_READ."""
        self._with_batches.add(address)
        self._without_batches.discard(address)

    def refuses_batches(self, address: BookieAddress) -> None:
        """Record that the bookie does not support BATCH_READ."""
        self._without_batches.add(address)

    def has_answered_batches(self, address: BookieAddress) -> bool:
        """Return whether the bookie answered a BATCH_READ within the last 24 h."""
        return address in self._with_batches

    def knows_batches(self, address: BookieAddress) -> bool:
        """Return whether to send the bookie a BATCH_READ: False for 600 s after the bookie refused a BATCH_READ."""
        return address not in self._without_batches


BOOKIE_HEALTH: Final = BookieHealth()
