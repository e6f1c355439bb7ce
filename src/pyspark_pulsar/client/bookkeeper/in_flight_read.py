"""A request for entries that is on its way to one bookie."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(slots=True)
class InFlightRead:
    """Entries that one bookie was asked for and has not given yet."""

    entries: range
    """The first of each group; all lie before `entries.stop`. Entries of the same place in their groups lie on the same
    bookies."""
    bookie: str
    size: int = 1
    """Of a group: so many entries in a row were asked for at once."""
    tried: dict[str, str] = field(default_factory=dict)
    """Bookies that did not give them, and what they said."""
    batch: int | None = None
    """The id of a BATCH_READ for as many of `entries` as the bookie likes to give."""
    pauses: int = 0
    """How often the bookie had too many requests."""
    paused_seconds: float = 0.0
    """The sum of all pauses."""
    not_before: float = 0.0
    """When the pause is over, by `time.monotonic`."""

    @property
    def is_batched(self) -> bool:
        """Whether the bookie must know BATCH_READ."""
        return self.batch is not None or self.size > 1

    def covers(self, entry: int) -> bool:
        """Whether it is one of the entries asked for."""
        entries = self.entries
        return entries.start <= entry < entries.stop and (entry - entries.start) % entries.step < self.size

    def one_by_one(self) -> list[InFlightRead]:
        """The same entries, none of which is asked for together with its neighbour."""
        start, stop, step = self.entries.start, self.entries.stop, self.entries.step
        places = [range(start + place, stop, step) for place in range(self.size)]
        return [replace(self, entries=entries, size=1) for entries in places if entries]

    def without(self, entry: int) -> list[InFlightRead]:
        """All that is left when an entry is out of it, the rest of its group as single entries."""
        start, stop, step = self.entries.start, self.entries.stop, self.entries.step
        group = entry - (entry - start) % step
        neighbours = [other for other in range(group, min(group + self.size, stop)) if other != entry]
        parts = [
            replace(self, entries=range(start, group, step)),
            *(replace(self, entries=range(other, other + 1), size=1) for other in neighbours),
            replace(self, entries=range(group + step, stop, step)),
        ]
        return [part for part in parts if part.entries]
