"""The times between which messages are wanted: one carrier, from the options of a query to the kernel that decodes.

The options give a `TimeBound` for each end (`options.values.time_bound`), which becomes a window for each topic
partition when the partitions are known. It goes with the range (`RangeRequest`), into the split, and to the kernel's
filter of rows. Filters of a query on `__publishTime` make it narrower on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """All times are Unix milliseconds by the clocks of producers; None is no bound."""

    published_from: int | None = None
    """Messages whose publish time is this or later ..."""
    published_before: int | None = None
    """... and before this one."""
    event_before: int | None = None
    """Of these, messages whose event time is before this, and those without one."""

    @property
    def is_empty(self) -> bool:
        """Whether no publish time lies inside."""
        return (
            self.published_from is not None
            and self.published_before is not None
            and self.published_from >= self.published_before
        )

    @property
    def bounds_publish_times(self) -> bool:
        """Whether ledgers can lie outside; of event times they know nothing."""
        return self.published_from is not None or self.published_before is not None

    def narrowed(self, other: TimeWindow) -> TimeWindow:
        """The messages that lie in both."""
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
