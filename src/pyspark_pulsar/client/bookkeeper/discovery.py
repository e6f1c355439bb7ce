"""Who holds a ledger whose ensemble the admin REST does not tell. Executor only.

All bookies are asked for a few entries in a row; from who has which follows the layout. What they send is thrown away,
so it is little.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from pyspark_pulsar._kernel import KernelError, LedgerFrames
from pyspark_pulsar.client.bookkeeper.connection import status
from pyspark_pulsar.client.bookkeeper.connection.connections import Arrival, BookieConnections
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.health import MEMORY
from pyspark_pulsar.client.bookkeeper.write_set import WriteSet, guessed_layout

_MOST_PROBES: Final = 24
_LEAST_PROBES: Final = 4
_PROBE_BYTES: Final = 2 << 20
_LOOK_AGAIN_SECONDS: Final = 1.0
_BUSY: Final = status.said(status.TOO_MANY_REQUESTS)


class GuessedWriteSets:
    """Finds the layout when it is first asked for, and anew when it was wrong."""

    may_change = True

    def __init__(self, run: EntryRange, bookies: tuple[str, ...], links: BookieConnections) -> None:
        """`bookies`: the ids of all that there are."""
        self._run = run
        self._bookies = bookies
        self._links = links
        self._layout: WriteSet | None = None

    def at(self, entry: int) -> tuple[WriteSet, int]:
        """Raises `LedgerUnavailable` when no bookie holds it."""
        if self._layout is None:
            self._layout = find_layout(self._run, entry, self._bookies, self._links)
        return self._layout, sys.maxsize

    def renew(self) -> None:
        self._layout = None


@dataclass(slots=True)
class _Probe:
    """What one bookie was asked for."""

    frames: LedgerFrames
    entries: range
    refused: set[int] = field(default_factory=set)
    answer: str = ""
    """Why it does not give the first one."""

    def holds(self, entry: int) -> bool:
        return entry not in self.refused and not self.frames.missing(entry, entry + 1, 1)

    @property
    def is_open(self) -> bool:
        missing = self.frames.missing(self.entries.start, self.entries.stop, 1)
        return missing > len(self.refused)

    def feed(self, arrival: Arrival) -> None:
        for _, entry, code, _ in self.frames.feed(arrival.connection, arrival.data):
            self.refuse(entry, status.said(code))

    def refuse(self, entry: int, answer: str) -> None:
        if entry in self.entries:
            self.refused.add(entry)
        if entry == self.entries.start:
            self.answer = answer

    def give_up(self, answer: str) -> None:
        """No more answers come."""
        for entry in self.entries:
            if not self.holds(entry):
                self.refuse(entry, answer)


def find_layout(run: EntryRange, first: int, bookies: tuple[str, ...], links: BookieConnections) -> WriteSet:
    """The layout from the entry `first` on. Raises `LedgerUnavailable` when no bookie holds that one."""
    count = min(_MOST_PROBES, 2 * len(bookies), _PROBE_BYTES // max(1, run.entry_bytes))
    entries = range(first, min(run.last + 1, first + max(_LEAST_PROBES, count)))
    probes: dict[str, _Probe] = {}
    for bookie in bookies:
        frames = run.frames(entries.start, entries.stop - 1)
        probes[bookie] = _Probe(frames, entries)
        links.ask(bookie, frames.read_requests(entries.start, entries.stop, 1))
    while expected := _expected(probes, links):
        for event in links.wait(expected, _LOOK_AGAIN_SECONDS):
            probe = probes[event.bookie]
            if not isinstance(event, Arrival):
                MEMORY.quarantine(links.addresses[event.bookie])
                probe.give_up(event.reason)
                continue
            try:
                probe.feed(event)
            except KernelError as error:
                links.drop(event.bookie)
                probe.give_up(f"is no bookie: {error.message}")
    for bookie, probe in probes.items():
        if probe.is_open:
            links.drop(bookie)
    held = [{bookie for bookie, probe in probes.items() if probe.holds(entry)} for entry in entries]
    busy = tuple(bookie for bookie, probe in probes.items() if probe.answer == _BUSY)
    if not held[0] and busy:
        # Whoever reads asks them again, after pauses.
        return WriteSet(first, (busy,), bookies)
    if not held[0]:
        raise run.unavailable(first, {bookie: probe.answer for bookie, probe in probes.items()})
    return guessed_layout(first, list(takewhile(bool, held)), bookies)


def _expected(probes: dict[str, _Probe], links: BookieConnections) -> set[str]:
    """Bookies to wait for: not those that were silent before, where the others hold every entry."""
    waited = {bookie for bookie, probe in probes.items() if probe.is_open}
    well = {bookie for bookie in waited if not MEMORY.is_quarantined(links.addresses[bookie])}
    if well or not waited:
        return waited
    entries = next(iter(probes.values())).entries
    found = all(any(probe.holds(entry) for probe in probes.values()) for entry in entries)
    return set() if found else waited
