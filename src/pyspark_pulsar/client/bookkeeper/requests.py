"""Requests of a `LedgerReader` to bookies. The module `ledger_reader` describes the kinds of requests and limits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from pyspark_pulsar.client.bookkeeper.bookie_health import BOOKIE_HEALTH
from pyspark_pulsar.client.bookkeeper.connection.connections import BookieConnections
from pyspark_pulsar.client.bookkeeper.in_flight_read import InFlightRead
from pyspark_pulsar.client.bookkeeper.read_state import ReadState
from pyspark_pulsar.client.bookkeeper.write_set import WriteSet, WriteSets
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.runtime import random, time

# The limit of one answer to a BATCH_READ. Bookies have their own limit (`maxBatchReadSize`, by default 5 MiB).
_BATCH_BYTES: Final = 4 << 20
_AHEAD_BYTES: Final = 16 << 20
_AHEAD_ENTRIES: Final = 1024
_LEAST_AHEAD: Final = 4
# Larger entries are requested alone, because the cost of one request is negligible for a large entry.
_SMALL_BYTES: Final = 64 << 10
_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 2.0


class ReadRequests:
    """A sender of requests that records each request in the `ReadState`."""

    def __init__(self, state: ReadState, write_sets: WriteSets, connections: BookieConnections) -> None:
        self._state = state
        self._write_sets = write_sets
        self._connections = connections
        self._turn = state.entry_range.ledger + state.entry_range.first
        self._batches = 0
        self._most_ahead = _AHEAD_ENTRIES

    def send_ahead(self) -> None:
        """Repeat the reads whose pause has ended, and request further entries within the limits."""
        state = self._state
        for read in state.pop_due(time.monotonic()):
            self.send(read)
        if state.unavailable is not None or state.paused or state.has_batch_read:
            return
        if state.is_misled:
            if state.in_flight:
                return
            self._write_sets.renew()
            state.is_misled = False
        window = max(_LEAST_AHEAD, min(self._most_ahead, _AHEAD_BYTES // state.entry_bytes))
        step = max(1, window // 4)
        while state.ahead < state.end:
            at_entry = self._write_set_at(state.ahead)
            if at_entry is None:
                return
            write_set, stop = at_entry[0], min(at_entry[1], state.end)
            bookie = self._batch_bookie(write_set)
            if bookie is not None:
                self._send_batch_read(bookie, range(state.ahead, stop))
                return
            if state.ahead - state.frames.next > window - step:
                return
            self._send_reads(write_set, range(state.ahead, min(stop, state.ahead + step)))

    def send(self, read: InFlightRead) -> None:
        """Request the entries of the read that were not received yet from `read.bookie`."""
        entries = read.entries
        requests = self._state.frames.read_requests(entries.start, entries.stop, entries.step, read.size)
        if requests:
            self._state.in_flight.append(read)
            self._connections.send(read.bookie, requests)

    def send_to_next_bookie(self, read: InFlightRead, answer: str) -> None:
        """Request the missing entries of the read from the next bookies of their write sets.

        If every bookie was tried for an entry, the whole read of the range ends before this entry.

        Args:
            read: The read that failed.
            answer: The reason of the failure, for error messages.

        """
        for single in read.split_groups():
            missing = self._state.first_missing(single)
            if missing is not None:
                self._fall_back(single, missing, single.tried | {single.bookie: answer})

    def _fall_back(self, read: InFlightRead, missing: int, tried: dict[str, str]) -> None:
        at_entry = self._write_set_at(missing)
        if at_entry is None:
            return
        untried = tuple(bookie for bookie in at_entry[0].bookies_for(missing) if bookie not in tried)
        if not untried:
            self._state.end_before(missing, self._state.entry_range.unavailable(missing, tried))
            return
        self.send(InFlightRead(read.entries, self._by_health(untried)[0], tried=tried))

    def pause(self, read: InFlightRead) -> bool:
        """Schedule a repetition of the read at the same bookie, after a pause.

        Returns:
            True, or False if the previous pauses of the read together exceed the timeout. With False, the read is not
            scheduled. Time in which the caller works does not count.

        """
        if read.paused_seconds > self._connections.timeout_seconds:
            return False
        if not self._state.paused:
            self._most_ahead = max(_LEAST_AHEAD, self._most_ahead // 2)
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**read.pauses)
        pause *= random.uniform(0.5, 1.0)
        paused = read.paused_seconds + pause
        not_before = time.monotonic() + pause
        self._state.paused.append(
            replace(read, pauses=read.pauses + 1, paused_seconds=paused, not_before=not_before)
        )
        return True

    def next_turn(self) -> None:
        """Choose another bookie of the write set for the next BATCH_READ."""
        self._turn += 1

    def _write_set_at(self, entry: int) -> tuple[WriteSet, int] | None:
        """Return the result of `WriteSets.at`. If no bookie has the entry, end the read and return None."""
        try:
            return self._write_sets.at(entry)
        except LedgerUnavailable as why:
            self._state.end_before(entry, why)
            return None

    def _batch_bookie(self, write_set: WriteSet) -> str | None:
        """Return the bookie for a BATCH_READ. Return None if entries are striped, or the bookie lacks BATCH_READ."""
        if not write_set.everyone_holds_all:
            return None
        holders = write_set.holders[0]
        first = self._turn % len(holders)
        bookie = self._by_health(holders[first:] + holders[:first])[0]
        return bookie if BOOKIE_HEALTH.knows_batches(self._connections.addresses[bookie]) else None

    def _by_health(self, bookies: tuple[str, ...]) -> list[str]:
        addresses = self._connections.addresses
        return sorted(bookies, key=lambda bookie: BOOKIE_HEALTH.is_quarantined(addresses[bookie]))

    def _send_batch_read(self, bookie: str, entries: range) -> None:
        if self._state.is_full:
            return
        self._batches += 1
        self._state.in_flight.append(InFlightRead(entries, bookie, batch=self._batches))
        request = self._state.frames.batch_request(entries.start, entries.stop, self._batches, _BATCH_BYTES)
        self._connections.send(bookie, request)

    def _send_reads(self, write_set: WriteSet, entries: range) -> None:
        """Request each entry, alone or in a group, from the first healthy bookie of its write set."""
        size = write_set.group if self._state.entry_bytes <= _SMALL_BYTES else 1
        turn = math.lcm(write_set.period, size)
        for first in entries[:turn:size]:
            groups = range(first, entries.stop, turn)
            bookie = self._group_bookie(write_set.common_bookies(first, size)) if size > 1 else None
            if bookie is not None:
                self.send(InFlightRead(groups, bookie, size))
                continue
            for single in InFlightRead(groups, "", size).split_groups():
                bookies = self._by_health(write_set.bookies_for(single.entries.start))
                self.send(replace(single, bookie=bookies[0]))
        self._state.ahead = entries.stop

    def _group_bookie(self, bookies: tuple[str, ...]) -> str | None:
        """Return the first healthy bookie that supports BATCH_READ, or None."""
        for bookie in bookies:
            address = self._connections.addresses[bookie]
            if BOOKIE_HEALTH.knows_batches(address) and not BOOKIE_HEALTH.is_quarantined(address):
                return bookie
        return None
