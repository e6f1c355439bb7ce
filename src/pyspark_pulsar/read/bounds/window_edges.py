"""A check that ledgers outside of a time window may be skipped. Driver only.

A ledger's times are from the broker's clock, and a message's time is from its producer's clock. Only `clockSlackMs`
limits the difference between the two times. A message gets its publish time before it is sent. Before a broker stores
the message, it may wait in its producer's batch, for a broker that is down, or for the next ledger. So `clockSlackMs`
can be too small without any sign.

The check reads the entries at both edges of the window, which show whether the slack is large enough. If publish times
only increase, as the times from one producer do, these entries prove that no skipped message is in the window. If one
of these entries is in the window, the slack is too small for that topic partition, and the check increases the slack.
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
"""The distances from a ledger's last entry at which the check searches for a visible entry.

Consumers see neither markers nor aborted messages, and each transaction ends with a marker."""
_MARGIN_FACTOR: Final = 2
_BOUNDLESS: Final = 1 << 62

FirstEntries = Callable[[Sequence[PartitionPosition]], Mapping[PartitionPosition, FirstEntry | None]]
Span = tuple[Position | None, Position | None]


@dataclass(frozen=True, slots=True)
class WindowedRange:
    """A range from `start` (inclusive) to `end` (exclusive), its time window, and the topic partition's ledgers."""

    ledgers: tuple[Ledger, ...]
    start: Position
    end: Position
    window: TimeWindow


@dataclass(frozen=True, slots=True)
class WindowEdge:
    """The skipped ledger next to the ledgers that are read, on one side of the window."""

    ledger: int
    positions: tuple[Position, ...]
    """The positions of entries whose publish times are evidence. The best evidence is first."""
    stored_ms: int
    """A time by a broker's clock.

    With `is_before`, all messages of the ledger were stored before this time. Otherwise, all were stored after this
    time.
    """
    bound_ms: int
    """The bound of the window on this side."""
    is_before: bool
    """True if the ledger is skipped because it is before the window, false if it is after the window."""

    def slack_needed(self, entry: FirstEntry | None) -> int | None:
        """Return the slack (ms) that is enough to read the ledger, or None if the entry is outside of the window.

        If the entry has a publish time, the slack includes a margin. `entry` is None if there is no evidence.
        """
        published = None if entry is None else entry.published_ms
        if published is None:
            apart = self.bound_ms - self.stored_ms if self.is_before else self.stored_ms - self.bound_ms + 1
            return max(0, apart)
        if (published < self.bound_ms) == self.is_before:
            return None
        return _MARGIN_FACTOR * abs(published - self.stored_ms)


class WindowEdges:
    """The check for one planner, with the partitions whose slack was too small. Used by one thread."""

    def __init__(self, first_entries: FirstEntries, slack_ms: int) -> None:
        """Store the arguments.

        Args:
            first_entries: Returns, for each position, the first entry at or after it that consumers can see.
            slack_ms: The value of option `clockSlackMs`.

        """
        self._first_entries = first_entries
        self._given_ms = slack_ms
        self._slack: dict[TopicPartition, int] = {}
        """The increased slack of the topic partitions for which the option is too small."""
        self._entries: dict[PartitionPosition, FirstEntry | None] = {}
        self._warned = False
        self._disproved = False

    def spans(self, ranges: Mapping[TopicPartition, WindowedRange]) -> dict[TopicPartition, Span]:
        """Return the positions between which the messages of each window can be, in the form of `span_of_window`.

        The errors of `first_entries` are raised.
        """
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
            self._entries |= self._first_entries(
                [position for positions in undecided.values() for position in positions]
            )
        # If there is no evidence after all rounds, no ledger is skipped.
        self._slack |= dict.fromkeys(rest, _BOUNDLESS)
        return {
            partition: span_of_window(windowed.ledgers, windowed.window, self._slack_of(partition))
            for partition, windowed in ranges.items()
        }

    def _undecided(self, partition: TopicPartition, windowed: WindowedRange) -> list[PartitionPosition]:
        """Return the positions to fetch next. If the fetched entries show that the slack is too small, increase it."""
        while True:
            edges = edges_of(windowed, self._slack_of(partition))
            self._warn_skipped(skips=bool(edges))
            positions = [position for edge in edges for position in self._next_position(partition, edge)]
            if positions or not self._widen_slack(partition, edges):
                return positions

    def _slack_of(self, partition: TopicPartition) -> int:
        return max(self._given_ms, self._slack.get(partition, 0))

    def _next_position(self, partition: TopicPartition, edge: WindowEdge) -> list[PartitionPosition]:
        """Return the next position to fetch for a decision about the edge.

        The list is empty if the fetched entries are enough for the decision.
        """
        for position in edge.positions:
            if (partition, position) not in self._entries:
                return [(partition, position)]
            if self._evidence(partition, edge, position) is not None:
                return []
        return []

    def _evidence(self, partition: TopicPartition, edge: WindowEdge, position: Position) -> FirstEntry | None:
        """Return the entry at `position`, or None if that entry is no evidence.

        Instead of the ledger's last entry, consumers may receive an entry of the next ledger, which is no evidence.
        """
        entry = self._entries.get((partition, position))
        if entry is None or (edge.is_before and entry.position.ledger != edge.ledger):
            return None
        return entry

    def _widen_slack(self, partition: TopicPartition, edges: Sequence[WindowEdge]) -> bool:
        """Increase the slack of the topic partition as the evidence requires. Return whether the slack has changed."""
        previous = self._slack_of(partition)
        for edge in edges:
            answers = (self._evidence(partition, edge, position) for position in edge.positions)
            entry = next((answer for answer in answers if answer is not None), None)
            needed = edge.slack_needed(entry)
            if needed is not None:
                self._slack[partition] = max(self._slack_of(partition), needed)
                self._warn_disproved(partition, edge, entry)
        return self._slack_of(partition) > previous

    # Warnings for the user

    def _warn_skipped(self, *, skips: bool) -> None:
        if self._warned or not skips:
            return
        self._warned = True
        _log.warning(
            "Skipping ledgers outside of the requested times. The read can miss messages that were stored more than "
            "%d ms (clockSlackMs) after their publish times. Set clockSlackMs to the longest delay of a message",
            self._given_ms,
        )

    def _warn_disproved(self, partition: TopicPartition, edge: WindowEdge, entry: FirstEntry | None) -> None:
        if self._disproved or entry is None or entry.published_ms is None:
            return
        self._disproved = True
        apart = abs(entry.published_ms - edge.stored_ms)
        _log.warning(
            "option 'clockSlackMs' is too small: expected messages to be stored within %d ms of their publish times, "
            "got at least %d ms. Set clockSlackMs to the longest delay of a message. The read now assumes %d ms. This "
            "warning is logged once: %s, message %s published at %d, ledger %s at %d (Unix milliseconds)",
            self._given_ms, apart, _MARGIN_FACTOR * apart, partition, entry.position, entry.published_ms,
            "closed" if edge.is_before else "opened", edge.stored_ms,
        )  # fmt: skip


def edges_of(windowed: WindowedRange, slack_ms: int) -> list[WindowEdge]:
    """Return the edges of the window: the nearest skipped ledger on each side that contains entries of the range."""
    first, after = span_of_window(windowed.ledgers, windowed.window, slack_ms)
    edges: list[WindowEdge] = []
    if first is not None and windowed.window.published_from is not None:
        closed = zip(windowed.ledgers, closed_at_latest(windowed.ledgers), strict=True)
        for ledger, stored in reversed(
            [(ledger, stored) for ledger, stored in closed if ledger.id < first.ledger]
        ):
            span = _entries_inside(ledger, windowed)
            if span and stored is not None:
                entries = dict.fromkeys(max(span[0], span[-1] - back) for back in _BACK)
                positions = tuple(Position(ledger.id, entry) for entry in entries)
                edges.append(
                    WindowEdge(ledger.id, positions, stored, windowed.window.published_from, is_before=True)
                )
                break
    if after is not None and windowed.window.published_before is not None:
        opened = zip(windowed.ledgers, opened_at_earliest(windowed.ledgers), strict=True)
        for ledger, stored in opened:
            if ledger.id < after.ledger:
                continue
            span = _entries_inside(ledger, windowed)
            if span and stored is not None:
                positions = (Position(ledger.id, span[0]),)
                edges.append(
                    WindowEdge(
                        ledger.id, positions, stored, windowed.window.published_before, is_before=False
                    )
                )
                break
    return edges


def _entries_inside(ledger: Ledger, windowed: WindowedRange) -> range:
    """Return the entries of the ledger that contain messages of the range."""
    first = windowed.start.entry if windowed.start.ledger == ledger.id else 0
    stop = ledger.entries
    if windowed.end.ledger == ledger.id:
        stop = min(stop, windowed.end.entry + (windowed.end.batch_index > 0))
    return range(first, stop) if windowed.start.ledger <= ledger.id <= windowed.end.ledger else range(0)
