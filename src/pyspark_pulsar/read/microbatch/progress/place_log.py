"""A log of the locations that micro-batches are read from, such as bookies or the broker. Driver only."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.read.split import Split, places_text, ranges_by_place

_log: Final = logging.getLogger(__name__)


class PlaceLog:
    """The locations of the last micro-batch that read anything. Used by one thread."""

    def __init__(self) -> None:
        self.by_place: dict[str, int] = {}
        """The number of the micro-batch's ranges that are read from each location."""

    def note(self, splits: Iterable[Split]) -> None:
        """Log a change of the locations between two planned micro-batches.

        A micro-batch without splits changes nothing.
        """
        counts = ranges_by_place(splits)
        if counts and counts.keys() != self.by_place.keys():
            _log.info("micro-batches are now read from: %s (ranges)", places_text(counts))
        self.by_place = counts or self.by_place
