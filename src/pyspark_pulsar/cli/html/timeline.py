"""Times to places on a line: in order, none of them squeezed away."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

# A busy minute among idle weeks would be a hair's breadth at scale; even steps alone would hide how long things took.
_TO_SCALE = 0.5


@dataclass(frozen=True, slots=True)
class Timeline:
    """Moments (Unix milliseconds) in order, and where each stands between 0 and `width`.

    Half of the room is shared out in proportion to time, half evenly between the moments.
    """

    moments: tuple[int, ...]
    places: tuple[float, ...]

    @classmethod
    def of(cls, moments: Iterable[int], width: float) -> Timeline:
        """At least one moment."""
        known = sorted(set(moments))
        steps = list(pairwise(known))
        if not steps:
            return cls((known[0],), (width,))
        span = known[-1] - known[0]
        places = [0.0]
        for before, after in steps:
            share = _TO_SCALE * (after - before) / span + (1 - _TO_SCALE) / len(steps)
            places.append(places[-1] + share * width)
        return cls(tuple(known), tuple(places))

    def place(self, moment: int) -> float:
        """Moments outside stand at the ends."""
        if moment <= self.moments[0]:
            return self.places[0]
        if moment >= self.moments[-1]:
            return self.places[-1]
        index = bisect_right(self.moments, moment) - 1
        before, after = self.moments[index], self.moments[index + 1]
        share = (moment - before) / (after - before)
        return self.places[index] + share * (self.places[index + 1] - self.places[index])

    def ticks(self, least_gap: float) -> Sequence[tuple[int, float]]:
        """Moments to name below the line, so far apart that their names have room; the last is always among them."""
        chosen: list[tuple[int, float]] = []
        for moment, place in zip(reversed(self.moments), reversed(self.places), strict=True):
            if not chosen or chosen[-1][1] - place >= least_gap:
                chosen.append((moment, place))
        return chosen[::-1]
