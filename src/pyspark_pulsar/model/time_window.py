"""Time bounds of a topic partition, from the options of a query to the kernel.

The options set a `TimeBound` for each end (`options.values.time_bound`). When the topic partitions are known, each gets
a window. The window is a part of the range (`RangeRequest`) and of the split, and the kernel filters rows by it.
Filters of a query on `__publishTime` narrow the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Time bounds in Unix milliseconds, by the clocks of producers. None means no bound.

    Attributes:
        published_from: The first publish time, inclusive.
        published_before: The end of publish times, exclusive.
        event_before: The end of event times, exclusive. Messages without an event time are inside.

    """

    published_from: int | None = None
    published_before: int | None = None
    event_before: int | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether the window contains no publish time."""
        return (
            self.published_from is not None
            and self.published_before is not None
            and self.published_from >= self.published_before
        )

    @property
    def bounds_publish_times(self) -> bool:
        """Return whether a ledger can be outside of the window. Ledgers have publish times only."""
        return self.published_from is not None or self.published_before is not None

    def narrowed(self, other: TimeWindow) -> TimeWindow:
        """Return the window of the messages that are in both windows."""
        return TimeWindow(
            _latest(self.published_from, other.published_from),
            _earliest(self.published_before, other.published_before),
            _earliest(self.event_before, other.event_before),
        )


ALL_TIMES: Final = TimeWindow()


def _latest(*times: int | None) -> int | None:
    return max((time for time in times if time is not None), default=None)


def _earliest(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)
