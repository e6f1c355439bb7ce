"""Log from where micro-batches are read: closed ledgers past the broker, open ones through it. Driver only."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.read.split import Split, places_text, ranges_by_place

_log: Final = logging.getLogger(__name__)


class PlaceLog:
    """The places of the last micro-batch that reads anything. Used by one thread."""

    def __init__(self) -> None:
        self.by_place: dict[str, int] = {}
        """The number of its ranges that are read from each place."""

    def note(self, splits: Iterable[Split]) -> None:
        """Log when a planned micro-batch is not read from the same places as the one before. A micro-batch without
        splits changes nothing."""
        counts = ranges_by_place(splits)
        if counts and counts.keys() != self.by_place.keys():
            _log.info("micro-batches are now read from: %s (ranges)", places_text(counts))
        self.by_place = counts or self.by_place
