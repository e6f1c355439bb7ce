"""What this process has learned about bookies, kept over splits and queries.

Only advice: whoever forgets it or is told wrong reads the same entries, slower.
"""

from __future__ import annotations

import time
from typing import Final

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress

_QUARANTINE_SECONDS: Final = 30.0
_LONGEST_QUARANTINE_SECONDS: Final = 600.0
# A bookie that was killed in the middle of an answer looks like one that does not know BATCH_READ.
_NO_BATCHES_SECONDS: Final = 600.0


class BookieHealth:
    """Used by one task at a time; safe in threads, since each call is one step on a dictionary."""

    def __init__(self) -> None:
        self._quarantined_until: dict[BookieAddress, float] = {}
        self._faults: dict[BookieAddress, int] = {}
        self._without_batches: dict[BookieAddress, float] = {}
        self._with_batches: set[BookieAddress] = set()

    def quarantine(self, address: BookieAddress) -> None:
        """It was dead, unreachable or silent: ask it last for some seconds, each time for longer."""
        faults = self._faults[address] = self._faults.get(address, 0) + 1
        seconds = min(_LONGEST_QUARANTINE_SECONDS, _QUARANTINE_SECONDS * 2 ** (faults - 1))
        self._quarantined_until[address] = time.monotonic() + seconds

    def has_answered(self, address: BookieAddress) -> None:
        """It was asked all the same, and works."""
        self._faults.pop(address, None)
        self._quarantined_until.pop(address, None)

    def is_quarantined(self, address: BookieAddress) -> bool:
        return self._quarantined_until.get(address, 0.0) > time.monotonic()

    def answers_batches(self, address: BookieAddress) -> None:
        """It has answered a BATCH_READ."""
        self._with_batches.add(address)
        self._without_batches.pop(address, None)

    def refuses_batches(self, address: BookieAddress) -> None:
        """BookKeeper before 4.17 does not know BATCH_READ, and closes the connection."""
        self._without_batches[address] = time.monotonic() + _NO_BATCHES_SECONDS

    def has_answered_batches(self, address: BookieAddress) -> bool:
        return address in self._with_batches

    def knows_batches(self, address: BookieAddress) -> bool:
        """Whether a BATCH_READ is worth trying."""
        return self._without_batches.get(address, 0.0) <= time.monotonic()


BOOKIE_HEALTH: Final = BookieHealth()
