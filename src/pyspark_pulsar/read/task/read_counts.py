"""What a task has read from where: sums over its splits, by names as in a query's progress. Executor only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyspark_pulsar.read.task.audit import RangeTally


class ReadCounts:
    """Of one task: `readEntries.PLACE`, `readBytes.PLACE`, and `fallbacks.PLACE`, the ranges that the place gave since
    another had failed."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    def take(self, tallies: Iterable[RangeTally]) -> None:
        """Those of a split that was read to its end."""
        for tally in tallies:
            place = tally.split_range.location.name
            self.by_name[f"readEntries.{place}"] += tally.entries
            self.by_name[f"readBytes.{place}"] += tally.size
            self.by_name[f"fallbacks.{place}"] += tally.fallback is not None
