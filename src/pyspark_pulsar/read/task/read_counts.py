"""Counts of the entries and bytes that a task read from each location, for a query's progress. Executor only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyspark_pulsar.read.task.audit import RangeTally


class ReadCounts:
    """The counts of one task, summed over its splits.

    `readEntries.PLACE` and `readBytes.PLACE` are the numbers of entries and bytes from a location. `fallbacks.PLACE` is
    the number of ranges that the location returned after another location had failed.
    """

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    def take(self, tallies: Iterable[RangeTally]) -> None:
        """Add the counts of a split that was read to its end."""
        for tally in tallies:
            place = tally.split_range.location.name
            self.by_name[f"readEntries.{place}"] += tally.entries
            self.by_name[f"readBytes.{place}"] += tally.size
            self.by_name[f"fallbacks.{place}"] += tally.fallback is not None
