"""A log of the locations that micro-batches are read from, such as bookies or the broker. Driver only."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.read.split import Split, places_text, ranges_by_place

_log: Final = logging.getLogger(__name__)


class PlaceLog:
    """The locations from which the last non-empty micro-batch is read. Used by one thread."""

    def __init__(self) -> None:
        self.by_place: dict[str, int] = {}
        """The number of ranges that the micro-batch reads from each location."""

    def note(self, splits: Iterable[Split]) -> None:
        """Store the locations of a planned micro-batch, and log a line if they differ from the previous micro-batch's.

        A micro-batch without splits changes nothing.
        """
        counts = ranges_by_place(splits)
        if counts and counts.keys() != self.by_place.keys():
            _log.info("micro-batches are now read from (ranges per location): %s", places_text(counts))
        self.by_place = counts or self.by_place
