"""Discovery of write sets by requests to bookies, on executors.

A reader uses this module if the admin REST API does not return a ledger's ensembles. Each bookie of the cluster
receives requests for the same entries, which are at most 24 consecutive entries. The answers of the bookies show the
write set. The received entries are discarded.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from pyspark_pulsar._kernel import KernelError, LedgerFrames
from pyspark_pulsar.client.bookkeeper.bookie_health import BOOKIE_HEALTH
from pyspark_pulsar.client.bookkeeper.connection import response_status
from pyspark_pulsar.client.bookkeeper.connection.connections import Arrival, BookieConnections
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.write_set import WriteSet, guess_write_set

_MOST_PROBES: Final = 24
_LEAST_PROBES: Final = 4
_PROBE_BYTES: Final = 2 << 20
_LOOK_AGAIN_SECONDS: Final = 1.0
_BUSY: Final = response_status.describe(response_status.TOO_MANY_REQUESTS)


class GuessedWriteSets:
    """Guessed write sets of a ledger. The first call of `at` makes a guess. `renew` discards the guess."""

    may_change = True

    def __init__(
        self, entry_range: EntryRange, bookies: tuple[str, ...], connections: BookieConnections
    ) -> None:
        """Store the arguments, without sending a request. `bookies` contains the ids of all bookies of the cluster."""
        self._entry_range = entry_range
        self._bookies = bookies
        self._connections = connections
        self._write_set: WriteSet | None = None

    def at(self, entry: int) -> tuple[WriteSet, int]:
        """Return the write set of the entry, and `sys.maxsize`, because the guess applies to all later entries.

        Raises:
            LedgerUnavailable: No bookie has the entry.

        """
        if self._write_set is None:
            self._write_set = discover_write_set(self._entry_range, entry, self._bookies, self._connections)
        return self._write_set, sys.maxsize

    def renew(self) -> None:
        self._write_set = None


@dataclass(slots=True)
class _Probe:
    """The requests to one bookie for the entries in `entries`, and the bookie's answers."""

    frames: LedgerFrames
    entries: range
    refused: set[int] = field(default_factory=set)
    answer: str = ""
    """The reason why the bookie did not return the first entry. Empty if the bookie returned the first entry."""

    def holds(self, entry: int) -> bool:
        return entry not in self.refused and not self.frames.missing(entry, entry + 1, 1)

    @property
    def is_open(self) -> bool:
        missing = self.frames.missing(self.entries.start, self.entries.stop, 1)
        return missing > len(self.refused)

    def feed(self, arrival: Arrival) -> None:
        for _, entry, code, _ in self.frames.feed(arrival.connection_id, arrival.data):
            self.refuse(entry, response_status.describe(code))

    def refuse(self, entry: int, answer: str) -> None:
        if entry in self.entries:
            self.refused.add(entry)
        if entry == self.entries.start:
            self.answer = answer

    def give_up(self, answer: str) -> None:
        """Record that the bookie sends no more answers. `answer` states the reason."""
        for entry in self.entries:
            if not self.holds(entry):
                self.refuse(entry, answer)


def discover_write_set(
    entry_range: EntryRange, first: int, bookies: tuple[str, ...], connections: BookieConnections
) -> WriteSet:
    """Guess the write sets of the entries from `first` on, by requests to all bookies.

    Args:
        entry_range: The ledger, and the last entry that discovery can request.
        first: The first entry.
        bookies: The ids of all bookies of the cluster.
        connections: The connections to the bookies.

    Raises:
        LedgerUnavailable: No bookie has the entry `first`.

    """
    count = min(_MOST_PROBES, 2 * len(bookies), _PROBE_BYTES // max(1, entry_range.entry_bytes))
    entries = range(first, min(entry_range.last + 1, first + max(_LEAST_PROBES, count)))
    probes: dict[str, _Probe] = {}
    for bookie in bookies:
        frames = entry_range.frames(entries.start, entries.stop - 1)
        probes[bookie] = _Probe(frames, entries)
        connections.send(bookie, frames.read_requests(entries.start, entries.stop, 1))
    while expected := _expected(probes, connections):
        for event in connections.wait(expected, _LOOK_AGAIN_SECONDS):
            probe = probes[event.bookie]
            if not isinstance(event, Arrival):
                BOOKIE_HEALTH.quarantine(connections.addresses[event.bookie])
                probe.give_up(event.reason)
                continue
            try:
                probe.feed(event)
            except KernelError as error:
                connections.drop(event.bookie)
                probe.give_up(f"is not a bookie: {error.message}")
    for bookie, probe in probes.items():
        if probe.is_open:
            connections.drop(bookie)
    held = [{bookie for bookie, probe in probes.items() if probe.holds(entry)} for entry in entries]
    busy = tuple(bookie for bookie, probe in probes.items() if probe.answer == _BUSY)
    if not held[0] and busy:
        # The reader pauses, and then requests the entry from the busy bookies again.
        return WriteSet(first, (busy,), bookies)
    if not held[0]:
        raise entry_range.unavailable(first, {bookie: probe.answer for bookie, probe in probes.items()})
    return guess_write_set(first, list(takewhile(bool, held)), bookies)


def _expected(probes: dict[str, _Probe], connections: BookieConnections) -> set[str]:
    """Return the bookies whose answers are missing.

    If only quarantined bookies have not answered, and the other bookies have every requested entry, the set is empty.
    """
    open_probes = {bookie for bookie, probe in probes.items() if probe.is_open}
    healthy = {
        bookie for bookie in open_probes if not BOOKIE_HEALTH.is_quarantined(connections.addresses[bookie])
    }
    if healthy or not open_probes:
        return open_probes
    entries = next(iter(probes.values())).entries
    are_found = all(any(probe.holds(entry) for probe in probes.values()) for entry in entries)
    return set() if are_found else open_probes
