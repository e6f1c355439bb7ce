"""From where micro-batches are read: closed ledgers past the broker, the open ones through it. Driver only."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.read.split import Split

_log: Final = logging.getLogger(__name__)


class SplitCounts:
    """Counts the splits of each micro-batch by the place that they are read from. Used by one thread."""

    def __init__(self) -> None:
        self.by_place: dict[str, int] = {}
        """How many splits of the last micro-batch are read from where; a split of two places counts for both."""

    def count(self, splits: Iterable[Split]) -> None:
        """A micro-batch was planned. Logs when it is not read from where the one before was; one without a split says
        nothing of that."""
        counts = Counter(place for split in splits for place in {part.location.name for part in split.ranges})
        if counts and counts.keys() != self.by_place.keys():
            _log.info("micro-batches are now read from: %s (splits)", _text(counts))
        if counts:
            self.by_place = dict(sorted(counts.items()))


def _text(counts: Counter[str]) -> str:
    return ", ".join(f"{place} {number}" for place, number in sorted(counts.items()))
