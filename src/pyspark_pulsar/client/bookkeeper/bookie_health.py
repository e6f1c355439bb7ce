"""What this process has learned about bookies, kept over splits and queries.

The knowledge is only advice: a process without it, or with wrong knowledge, reads the same entries, slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.quarantine import Quarantines, Remembered

# A bookie that was killed in the middle of an answer looks like one that does not know BATCH_READ.
_NO_BATCHES_SECONDS: Final = 600.0
# Bookies are seldom downgraded, and the address of a bookie seldom becomes that of an older one.
_BATCHES_SECONDS: Final = 86_400.0


class BookieHealth:
    """Which bookies to ask last, and which know BATCH_READ. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds and never goes back."""
        self._quarantines: Quarantines[BookieAddress] = Quarantines(clock)
        self._without_batches: Remembered[BookieAddress] = Remembered(_NO_BATCHES_SECONDS, clock)
        self._with_batches: Remembered[BookieAddress] = Remembered(_BATCHES_SECONDS, clock)

    def quarantine(self, address: BookieAddress) -> None:
        """Ask the bookie last for a while: it was dead, unreachable or silent."""
        self._quarantines.begin(address)

    def has_answered(self, address: BookieAddress) -> None:
        """Forget the faults of a bookie that has answered during its quarantine."""
        self._quarantines.end(address)

    def is_quarantined(self, address: BookieAddress) -> bool:
        """Return whether to ask the bookie last."""
        return self._quarantines.seconds_left(address) > 0

    def answers_batches(self, address: BookieAddress) -> None:
        """Record that the bookie has answered a BATCH_READ."""
        self._with_batches.add(address)
        self._without_batches.discard(address)

    def refuses_batches(self, address: BookieAddress) -> None:
        """Record that the bookie does not know BATCH_READ: BookKeeper before 4.17 closes the connection then."""
        self._without_batches.add(address)

    def has_answered_batches(self, address: BookieAddress) -> bool:
        """Return whether the bookie has answered a BATCH_READ within the last day."""
        return address in self._with_batches

    def knows_batches(self, address: BookieAddress) -> bool:
        """Return whether a BATCH_READ is worth trying."""
        return address not in self._without_batches


BOOKIE_HEALTH: Final = BookieHealth()
