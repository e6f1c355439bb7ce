"""A request for entries that is in flight to one bookie."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(slots=True)
class InFlightRead:
    """Entries that were requested from one bookie, and that the bookie has not returned yet."""

    entries: range
    """The first entry of each group, all before `entries.stop`. Entries at the same index of their groups are stored
    on the same bookies."""
    bookie: str
    size: int = 1
    """Number of consecutive entries in a group, which were requested together."""
    tried: dict[str, str] = field(default_factory=dict)
    """Bookies that did not return the entries, and their answers."""
    batch: int | None = None
    """The id of a BATCH_READ, for which the bookie returns as many of `entries` as it chooses."""
    pauses: int = 0
    """Number of pauses, each because the bookie had too many requests."""
    paused_seconds: float = 0.0
    """The sum of all pauses."""
    not_before: float = 0.0
    """End of the pause, by `time.monotonic`."""

    @property
    def is_batched(self) -> bool:
        """Return whether the bookie must support BATCH_READ."""
        return self.batch is not None or self.size > 1

    def covers(self, entry: int) -> bool:
        """Return whether the entry was requested."""
        entries = self.entries
        return entries.start <= entry < entries.stop and (entry - entries.start) % entries.step < self.size

    def split_groups(self) -> list[InFlightRead]:
        """Return reads of the same entries without groups, one read for each index in the groups."""
        start, stop, step = self.entries.start, self.entries.stop, self.entries.step
        places = [range(start + place, stop, step) for place in range(self.size)]
        return [replace(self, entries=entries, size=1) for entries in places if entries]

    def split_around(self, entry: int) -> list[InFlightRead]:
        """Return reads of the entries without the given one. The rest of its group becomes single entries."""
        start, stop, step = self.entries.start, self.entries.stop, self.entries.step
        group = entry - (entry - start) % step
        neighbours = [other for other in range(group, min(group + self.size, stop)) if other != entry]
        parts = [
            replace(self, entries=range(start, group, step)),
            *(replace(self, entries=range(other, other + 1), size=1) for other in neighbours),
            replace(self, entries=range(group + step, stop, step)),
        ]
        return [part for part in parts if part.entries]
