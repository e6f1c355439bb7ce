"""Whether what times leave out of a range lies outside: the entries beside its borders tell. Driver only.

A ledger has the broker's times, a message its producer's, and nothing but `clockSlackMs` says how far they lie apart. A
message has its publish time before it is sent: it waits in its producer's batch, for a broker that is away, and for the
next ledger where one is full when it comes. So the option may be too little without anybody noticing. The entries at
both borders show it. Where publish times grow, as those of one producer do, they prove that nothing of what is left out
is inside; where one of them is inside, the slack is too little for that topic partition, and is made larger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.bounds.timestamps import closed_at_latest, opened_at_earliest, span_of_window
from pyspark_pulsar.read.sources.peek import FirstEntry, PartitionPosition

_log: Final = logging.getLogger(__name__)

_ROUNDS: Final = 16
_BACK: Final = (0, 1, 2, 3, 16)
"""Consumers do not see markers, of which each transaction has one at its end, nor what was aborted."""
_TIMES: Final = 2
_BOUNDLESS: Final = 1 << 62

FirstEntries = Callable[[Sequence[PartitionPosition]], Mapping[PartitionPosition, FirstEntry | None]]
Span = tuple[Position | None, Position | None]


@dataclass(frozen=True, slots=True)
class WindowedRange:
    """The messages from `start` (inclusive) to `end` (exclusive) that lie in `window`, and the ledgers there are."""

    ledgers: tuple[Ledger, ...]
    start: Position
    end: Position
    window: TimeWindow


@dataclass(frozen=True, slots=True)
class WindowEdge:
    """The ledger next to what is read that the times leave out."""

    ledger: int
    places: tuple[Position, ...]
    """Whose publish time tells; the later ones where the earlier ones tell nothing."""
    stored_ms: int
    """By the broker: behind `is_before` all its messages were stored by then, else none before."""
    bound_ms: int
    """The window's bound on this side."""
    is_before: bool
    """Left out before the window; else behind it."""

    def slack_needed(self, entry: FirstEntry | None) -> int | None:
        """The slack that does not leave the ledger out, with room where the entry shows how far times lie apart; None
        where the entry lies outside the window. `entry` None: nothing tells."""
        published = None if entry is None else entry.published_ms
        if published is None:
            apart = self.bound_ms - self.stored_ms if self.is_before else self.stored_ms - self.bound_ms + 1
            return max(0, apart)
        if (published < self.bound_ms) == self.is_before:
            return None
        return _TIMES * abs(published - self.stored_ms)


class WindowEdges:
    """Kept by a planner, which so remembers where the slack is too little. Used by one thread."""

    def __init__(self, first_entries: FirstEntries, slack_ms: int) -> None:
        """`first_entries`: the first entry at each place or behind it, as consumers see it. `slack_ms`: option
        `clockSlackMs`."""
        self._first_entries = first_entries
        self._given_ms = slack_ms
        self._slack: dict[TopicPartition, int] = {}
        """Where the option's is too little."""
        self._entries: dict[PartitionPosition, FirstEntry | None] = {}
        self._told = False
        self._disproved = False

    def spans(self, ranges: Mapping[TopicPartition, WindowedRange]) -> dict[TopicPartition, Span]:
        """Where the messages of each window can lie, as `span_of_window` has it. Raises what
        `first_entries` raises."""
        self._entries = {}
        rest = {
            partition: windowed
            for partition, windowed in ranges.items()
            if windowed.window.bounds_publish_times
        }
        for _ in range(_ROUNDS):
            undecided = {
                partition: self._undecided(partition, windowed) for partition, windowed in rest.items()
            }
            rest = {partition: windowed for partition, windowed in rest.items() if undecided[partition]}
            if not rest:
                break
            self._entries |= self._first_entries([place for places in undecided.values() for place in places])
        # Ledgers of which nothing is known by then are read.
        self._slack |= dict.fromkeys(rest, _BOUNDLESS)
        return {
            partition: span_of_window(windowed.ledgers, windowed.window, self._slack_of(partition))
            for partition, windowed in ranges.items()
        }

    def _undecided(self, partition: TopicPartition, windowed: WindowedRange) -> list[PartitionPosition]:
        """What has to be asked next; makes the slack larger as far as the answers say so."""
        while True:
            borders = borders_of(windowed, self._slack_of(partition))
            self._tell(leaves_out=bool(borders))
            places = [place for border in borders for place in self._next_place(partition, border)]
            if places or not self._widened(partition, borders):
                return places

    def _slack_of(self, partition: TopicPartition) -> int:
        return max(self._given_ms, self._slack.get(partition, 0))

    def _next_place(self, partition: TopicPartition, border: WindowEdge) -> list[PartitionPosition]:
        """The next place that has to be asked before the border is decided."""
        for position in border.places:
            if (partition, position) not in self._entries:
                return [(partition, position)]
            if self._telling(partition, border, position) is not None:
                return []
        return []

    def _telling(
        self, partition: TopicPartition, border: WindowEdge, position: Position
    ) -> FirstEntry | None:
        """Instead of a ledger's last entry, which consumers may not see, comes one of the next: it tells nothing."""
        entry = self._entries.get((partition, position))
        if entry is None or (border.is_before and entry.position.ledger != border.ledger):
            return None
        return entry

    def _widened(self, partition: TopicPartition, borders: Sequence[WindowEdge]) -> bool:
        """Whether an answer has made the slack of the topic partition larger."""
        former = self._slack_of(partition)
        for border in borders:
            answers = (self._telling(partition, border, position) for position in border.places)
            entry = next((answer for answer in answers if answer is not None), None)
            needed = border.slack_needed(entry)
            if needed is not None:
                self._slack[partition] = max(self._slack_of(partition), needed)
                self._tell_disproved(partition, border, entry)
        return self._slack_of(partition) > former

    # What the user should know

    def _tell(self, *, leaves_out: bool) -> None:
        if self._told or not leaves_out:
            return
        self._told = True
        _log.warning(
            "ledgers are left out by the times that are asked for: it is assumed that a message's publish time is at "
            "most %d ms (clockSlackMs) away from the time at which it was stored; the entries beside those ledgers are "
            "asked whether that holds. A message farther away, such as of a replication that was interrupted, may not "
            "be found: set clockSlackMs to the longest time that messages may be under way",
            self._given_ms,
        )

    def _tell_disproved(
        self, partition: TopicPartition, border: WindowEdge, entry: FirstEntry | None
    ) -> None:
        if self._disproved or entry is None or entry.published_ms is None:
            return
        self._disproved = True
        apart = abs(entry.published_ms - border.stored_ms)
        _log.warning(
            "%s: option 'clockSlackMs': expected publish times at most %d ms away from the time at which messages were "
            "stored, got at least %d ms at %s, published at %d (Unix milliseconds) in a ledger that was %s at %d. "
            "Ledgers up to %d ms away are read there; set clockSlackMs to the longest time that messages may be under "
            "way (this is told once)",
            partition, self._given_ms, apart, entry.position, entry.published_ms,
            "closed" if border.is_before else "opened", border.stored_ms, _TIMES * apart,
        )  # fmt: skip


def borders_of(windowed: WindowedRange, slack_ms: int) -> list[WindowEdge]:
    """The ledgers next to the span of the window that hold entries of the range."""
    first, behind = span_of_window(windowed.ledgers, windowed.window, slack_ms)
    borders: list[WindowEdge] = []
    if first is not None and windowed.window.published_from is not None:
        closed = zip(windowed.ledgers, closed_at_latest(windowed.ledgers), strict=True)
        for ledger, stored in reversed(
            [(ledger, stored) for ledger, stored in closed if ledger.id < first.ledger]
        ):
            span = _entries_inside(ledger, windowed)
            if span and stored is not None:
                entries = dict.fromkeys(max(span[0], span[-1] - back) for back in _BACK)
                places = tuple(Position(ledger.id, entry) for entry in entries)
                borders.append(
                    WindowEdge(ledger.id, places, stored, windowed.window.published_from, is_before=True)
                )
                break
    if behind is not None and windowed.window.published_before is not None:
        opened = zip(windowed.ledgers, opened_at_earliest(windowed.ledgers), strict=True)
        for ledger, stored in opened:
            if ledger.id < behind.ledger:
                continue
            span = _entries_inside(ledger, windowed)
            if span and stored is not None:
                places = (Position(ledger.id, span[0]),)
                borders.append(
                    WindowEdge(ledger.id, places, stored, windowed.window.published_before, is_before=False)
                )
                break
    return borders


def _entries_inside(ledger: Ledger, windowed: WindowedRange) -> range:
    """The entries of the ledger that hold messages of the range."""
    first = windowed.start.entry if windowed.start.ledger == ledger.id else 0
    stop = ledger.entries
    if windowed.end.ledger == ledger.id:
        stop = min(stop, windowed.end.entry + (windowed.end.batch_index > 0))
    return range(first, stop) if windowed.start.ledger <= ledger.id <= windowed.end.ledger else range(0)
