"""Conversion of times to proportional positions on a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_SECOND: Final = 1000
_MINUTE, _HOUR, _DAY = 60 * _SECOND, 3600 * _SECOND, 86_400 * _SECOND
_STEPS: Final = (
    1, 10, 100, _SECOND, 5 * _SECOND, 15 * _SECOND, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR,
    12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY, 91 * _DAY, 364 * _DAY,
)  # fmt: skip
"""The possible distances between two ticks, in milliseconds. A longer distance is a multiple of the last distance."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A line that maps moments (Unix milliseconds) from `first` to `last` to positions from 0 to `width`."""

    first: int
    last: int
    width: float

    @classmethod
    def from_moments(cls, moments: Iterable[int], width: float) -> Timeline:
        """Return a line from the earliest to the latest of `moments`, which contains at least one moment."""
        known = list(moments)
        return cls(min(known), max(known), width)

    def place(self, moment: int) -> float:
        """Return the position of a moment.

        A moment outside of the line has the position of the nearer end. If `first` and `last` are equal, the position
        of every moment is the right end.
        """
        span = self.last - self.first
        if span == 0 or moment >= self.last:
            return self.width
        return max(0.0, (moment - self.first) / span * self.width)

    def ticks(self, least_gap: float) -> Sequence[tuple[int, float]]:
        """Return the moment and the position of each tick.

        The ticks are at round moments at equal distances. The last tick is at the last moment of the line, even if this
        moment is not round. `least_gap` is the smallest distance between two ticks, which is the width of a label.
        """
        least = (self.last - self.first) * least_gap / self.width
        step = next((step for step in _STEPS if step >= least), 0) or _multiple(least)
        first = -(-self.first // step) * step
        round_ones = [(moment, self.place(moment)) for moment in range(first, self.last, step)]
        free = [(moment, place) for moment, place in round_ones if self.width - place >= least_gap]
        return [*free, (self.last, self.width)]


def _multiple(least: float) -> int:
    return int(-(-least // _STEPS[-1])) * _STEPS[-1]
