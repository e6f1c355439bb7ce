"""A read that is in flight: entries requested from one bookie and not received yet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(slots=True)
class InFlightRead:
    """A request to one bookie for entries that the bookie has not returned yet."""

    entries: range
    """The first entry of each group of `size` consecutive entries. No group contains the entry `entries.stop` or a
    later entry.

    Two entries with the same index in their groups are stored on the same bookies."""
    bookie: str
    size: int = 1
    """The number of consecutive entries in a group. One request is for a whole group."""
    tried: dict[str, str] = field(default_factory=dict)
    """The answers of bookies that did not return the entries, by bookie id."""
    batch: int | None = None
    """The request id of a BATCH_READ in which the bookie chooses how many of `entries` to return.

    A read of groups or single entries has the value None."""
    pauses: int = 0
    """The number of pauses so far. Each pause followed an answer that the bookie had too many requests."""
    paused_seconds: float = 0.0
    """The total duration of all pauses in seconds."""
    not_before: float = 0.0
    """The time at which the current pause ends, by `time.monotonic`."""

    @property
    def is_batched(self) -> bool:
        """Return whether the request uses BATCH_READ, which BookKeeper supports since version 4.17."""
        return self.batch is not None or self.size > 1

    def covers(self, entry: int) -> bool:
        """Return whether this read includes the entry."""
        entries = self.entries
        return entries.start <= entry < entries.stop and (entry - entries.start) % entries.step < self.size

    def split_groups(self) -> list[InFlightRead]:
        """Split this read into reads of single entries. Each read has the entries of one index in the groups."""
        start, stop, step = self.entries.start, self.entries.stop, self.entries.step
        places = [range(start + place, stop, step) for place in range(self.size)]
        return [replace(self, entries=entries, size=1) for entries in places if entries]

    def split_around(self, entry: int) -> list[InFlightRead]:
        """Return reads of all entries of this read except `entry`.

        The returned reads request the other entries in the group of `entry` as single entries.
        """
        start, stop, step = self.entries.start, self.entries.stop, self.entries.step
        group = entry - (entry - start) % step
        neighbours = [other for other in range(group, min(group + self.size, stop)) if other != entry]
        parts = [
            replace(self, entries=range(start, group, step)),
            *(replace(self, entries=range(other, other + 1), size=1) for other in neighbours),
            replace(self, entries=range(group + step, stop, step)),
        ]
        return [part for part in parts if part.entries]
