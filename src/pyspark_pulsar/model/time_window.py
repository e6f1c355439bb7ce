"""The times between which a query reads the messages of a topic partition.

The options of a query set a `TimeBound` for the start and for the end (`options.values.time_bound`). From these bounds,
the driver computes a window for each topic partition. The window is a part of the range (`RangeRequest`) and of each
split, and the kernel filters messages by the window. A filter of the query on `__publishTime` narrows the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Time bounds in Unix milliseconds, by the clocks of producers. None means no bound.

    Attributes:
        published_from: The start of the publish times, inclusive.
        published_before: The end of the publish times, exclusive.
        event_before: The end of the event times, exclusive. A message without an event time is in the window.

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
        """Return whether the window limits the publish time. If so, a whole ledger can be outside the window."""
        return self.published_from is not None or self.published_before is not None

    def narrowed(self, other: TimeWindow) -> TimeWindow:
        """Return the window that contains the messages in both windows."""
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
