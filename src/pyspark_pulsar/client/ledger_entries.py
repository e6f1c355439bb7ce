"""A run of entries of one ledger, straight from the bookies that hold it. Executor only.

Where every bookie of the ensemble holds all entries (ensemble size equals write quorum), one of them is asked for many
at once (BATCH_READ), and for the next ones as soon as the answer is here, before it is decoded. Else those few that
lie together on one bookie are asked for at once, or each entry by itself (READ_ENTRY), of the bookies in turn, many
ahead. The kernel puts them in order.

An entry that a bookie does not give is asked of the next one that may hold it. Bookies are shared with those who
write: what is asked for ahead is bounded, and one that has too much to do is left in peace for a while.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pyspark_pulsar._kernel import EntryBatch, KernelError
from pyspark_pulsar.client import bookie_answers
from pyspark_pulsar.client.bookie_links import Arrival, BookieLinks, Loss
from pyspark_pulsar.client.bookie_memory import MEMORY
from pyspark_pulsar.client.ledger_asked import Asked
from pyspark_pulsar.client.ledger_layout import Layout, Layouts
from pyspark_pulsar.client.ledger_run import LedgerRun
from pyspark_pulsar.errors import LedgerUnavailable

# Of one answer; bookies cap it at 5 MiB (`maxBatchReadSize`).
_BATCH_BYTES: Final = 4 << 20
_AHEAD_BYTES: Final = 16 << 20
_AHEAD_ENTRIES: Final = 1024
_LEAST_AHEAD: Final = 4
# Of larger entries, a request for each costs nothing beside their bytes.
_SMALL_BYTES: Final = 64 << 10
# Above it, only what the reader waits for is received.
_HOLD_BYTES: Final = 24 << 20
_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 2.0
_LOOK_AGAIN_SECONDS: Final = 1.0
_NOT_UNDERSTOOD: Final = (bookie_answers.BAD_REQUEST, bookie_answers.BAD_VERSION)


class LedgerEntries:
    """Iterate once. Raises `LedgerUnavailable` for an entry that no bookie gives."""

    def __init__(self, run: LedgerRun, layouts: Layouts, links: BookieLinks) -> None:
        self._run = run
        self._layouts = layouts
        self._links = links
        self._frames = run.frames()
        self._asked: list[Asked] = []
        self._later: list[Asked] = []
        self._ahead = run.first
        """The first entry that nobody was asked for."""
        self._misled = False
        """A bookie lacks an entry that the guessed layout says it holds."""
        self._turn = run.ledger + run.first
        self._batches = 0
        self._most_ahead = _AHEAD_ENTRIES
        self._entry_bytes = max(1, run.entry_bytes)
        self._end = run.last + 1
        """The first entry that no bookie gives; after the last one while all are given."""
        self._fault: LedgerUnavailable | None = None

    def __iter__(self) -> Iterator[EntryBatch]:
        """Entries in order, each once; before an error, all that are in front of the one that is not to be had."""
        while self._frames.next < self._end:
            self._ask_ahead()
            entries = self._frames.take()
            if entries is None and self._frames.next < self._end:
                self._receive()
                entries = self._frames.take()
            if entries is not None:
                self._entry_bytes = max(self._run.entry_bytes, entries.nbytes // len(entries))
                yield entries
        if self._fault is not None:
            raise self._fault

    # Asking

    def _ask_ahead(self) -> None:
        self._ask_again()
        if self._fault is not None or self._later or any(asked.batch is not None for asked in self._asked):
            return
        if self._misled:
            if self._asked:
                return
            self._layouts.renew()
            self._misled = False
        window = max(_LEAST_AHEAD, min(self._most_ahead, _AHEAD_BYTES // self._entry_bytes))
        stretch = max(1, window // 4)
        while self._ahead < self._end:
            found = self._layout_at(self._ahead)
            if found is None:
                return
            layout, stop = found[0], min(found[1], self._end)
            bookie = self._batch_bookie(layout)
            if bookie is not None:
                self._ask_batch(bookie, range(self._ahead, stop))
                return
            if self._ahead - self._frames.next > window - stretch:
                return
            self._ask_stretch(layout, range(self._ahead, min(stop, self._ahead + stretch)))

    def _layout_at(self, entry: int) -> tuple[Layout, int] | None:
        """As `layouts.at`. None: no bookie holds the entry, so it is the end."""
        try:
            return self._layouts.at(entry)
        except LedgerUnavailable as fault:
            self._end_before(entry, fault)
            return None

    def _end_before(self, entry: int, fault: LedgerUnavailable) -> None:
        """What was asked for in front of the entry is still waited for."""
        if entry < self._end:
            self._end, self._fault = entry, fault

    def _batch_bookie(self, layout: Layout) -> str | None:
        """The bookie to be asked for many entries at once, if there is one."""
        if not layout.everyone_holds_all:
            return None
        holders = layout.holders[0]
        first = self._turn % len(holders)
        order = self._by_health(holders[first:] + holders[:first])
        return order[0] if MEMORY.knows_batches(self._links.addresses[order[0]]) else None

    def _by_health(self, bookies: tuple[str, ...]) -> list[str]:
        return sorted(bookies, key=lambda bookie: MEMORY.is_avoided(self._links.addresses[bookie]))

    def _ask_batch(self, bookie: str, entries: range) -> None:
        if self._frames.buffered_bytes > _HOLD_BYTES:
            return
        self._batches += 1
        self._asked.append(Asked(entries, bookie, batch=self._batches))
        requests = self._frames.batch_request(entries.start, entries.stop, self._batches, _BATCH_BYTES)
        self._links.ask(bookie, requests)

    def _ask_stretch(self, layout: Layout, entries: range) -> None:
        """Ask for each entry of the first healthy bookie that should hold it."""
        size = layout.group if self._entry_bytes <= _SMALL_BYTES else 1
        turn = math.lcm(layout.period, size)
        for first in entries[:turn:size]:
            groups = range(first, entries.stop, turn)
            bookie = self._group_bookie(layout.of_all(first, size)) if size > 1 else None
            if bookie is not None:
                self._ask(Asked(groups, bookie, size))
                continue
            for each in Asked(groups, "", size).one_by_one():
                self._ask(replace(each, bookie=self._by_health(layout.of(each.entries.start))[0]))
        self._ahead = entries.stop

    def _group_bookie(self, bookies: tuple[str, ...]) -> str | None:
        addresses = self._links.addresses
        return next(
            (
                bookie
                for bookie in bookies
                if MEMORY.knows_batches(addresses[bookie]) and not MEMORY.is_avoided(addresses[bookie])
            ),
            None,
        )

    def _ask(self, asked: Asked) -> None:
        entries = asked.entries
        requests = self._frames.read_requests(entries.start, entries.stop, entries.step, asked.size)
        if requests:
            self._asked.append(asked)
            self._links.ask(asked.bookie, requests)

    def _ask_again(self) -> None:
        """Those that were left in peace long enough."""
        now = time.monotonic()
        due = [asked for asked in self._later if asked.not_before <= now]
        self._later = [asked for asked in self._later if asked.not_before > now]
        for asked in due:
            self._ask(asked)

    def _ask_next(self, asked: Asked, answer: str) -> None:
        """The bookie does not give these entries: ask the next one; after the last one, they are the end."""
        for each in asked.one_by_one():
            self._ask_another(each, answer)

    def _ask_another(self, asked: Asked, answer: str) -> None:
        missing = next((entry for entry in asked.entries if self._frames.missing(entry, entry + 1, 1)), None)
        if missing is None:
            return
        tried = asked.tried | {asked.bookie: answer}
        found = self._layout_at(missing)
        if found is None:
            return
        left = tuple(bookie for bookie in found[0].of(missing) if bookie not in tried)
        if not left:
            self._end_before(missing, self._run.unavailable(missing, tried))
            return
        self._ask(Asked(asked.entries, self._by_health(left)[0], tried=tried))

    # Receiving

    def _receive(self) -> None:
        seconds = min(
            (asked.not_before - time.monotonic() for asked in self._later), default=_LOOK_AGAIN_SECONDS
        )
        for event in self._links.wait(self._expected(), max(0.0, seconds)):
            if isinstance(event, Loss):
                self._lose(event)
            else:
                self._feed(event)

    def _expected(self) -> set[str]:
        """The bookies to listen to."""
        if self._frames.buffered_bytes <= _HOLD_BYTES:
            return {asked.bookie for asked in self._asked}
        return {asked.bookie for asked in self._asked if asked.covers(self._frames.next)}

    def _feed(self, arrival: Arrival) -> None:
        groups = self._frames.groups
        try:
            answers = self._frames.feed(arrival.connection, arrival.data)
        except KernelError as error:
            self._links.drop(arrival.bookie)
            self._lose(Loss(arrival.bookie, arrival.connection, f"is no bookie: {error.message}"))
            return
        address = self._links.addresses[arrival.bookie]
        if MEMORY.is_avoided(address):
            MEMORY.has_answered(address)
        if self._frames.groups > groups:
            MEMORY.answers_batches(address)
        for batch, entry, code, count in answers:
            if batch is None:
                self._refused(arrival.bookie, entry, code)
            else:
                self._batch_answered(batch, entry, code, count)
        self._asked = [each for each in self._asked if each.bookie != arrival.bookie or self._is_open(each)]

    def _is_open(self, asked: Asked) -> bool:
        entries = asked.entries
        if asked.batch is not None:
            return True
        return self._frames.missing(entries.start, entries.stop, entries.step, asked.size) > 0

    def _refused(self, bookie: str, entry: int, code: int) -> None:
        """An entry that was asked for, by itself or in a group, and did not come."""
        asked = next(
            (
                each
                for each in self._asked
                if each.bookie == bookie and each.batch is None and each.covers(entry)
            ),
            None,
        )
        if asked is None:
            return
        self._asked.remove(asked)
        self._asked += asked.without(entry)
        one = replace(asked, entries=range(entry, entry + 1), size=1)
        if code == bookie_answers.OK:
            self._ask(one)
        elif asked.size > 1 and code in _NOT_UNDERSTOOD:
            MEMORY.refuses_batches(self._links.addresses[bookie])
            self._ask(one)
        else:
            self._go_on(one, code)

    def _batch_answered(self, batch: int, entry: int, code: int, count: int) -> None:
        asked = next((each for each in self._asked if each.batch == batch), None)
        if asked is None:
            return
        self._asked.remove(asked)
        address = self._links.addresses[asked.bookie]
        if code in _NOT_UNDERSTOOD:
            MEMORY.refuses_batches(address)
            return
        MEMORY.answers_batches(address)
        if entry != asked.entries.start:
            code, count = bookie_answers.DAMAGED, 0
        self._ahead = asked.entries.start + count
        if code != bookie_answers.OK:
            self._turn += 1
            self._without_batch(asked.bookie, code)

    def _without_batch(self, bookie: str, code: int) -> None:
        """The bookie does not give the next entry: read it by itself, from another one."""
        entry, self._ahead = self._ahead, self._ahead + 1
        self._go_on(Asked(range(entry, entry + 1), bookie), code)

    def _go_on(self, asked: Asked, code: int) -> None:
        if code == bookie_answers.TOO_MANY_REQUESTS and self._leave_in_peace(asked):
            return
        if code in (bookie_answers.NO_ENTRY, bookie_answers.NO_LEDGER):
            self._misled = self._layouts.may_change
        self._ask_next(asked, bookie_answers.said(code))

    def _leave_in_peace(self, asked: Asked) -> bool:
        """Ask the same bookie again after a pause; false when it has been given time enough: pauses count, and not
        what the reader's caller does meanwhile."""
        if asked.paused_seconds > self._links.timeout_seconds:
            return False
        if not self._later:
            self._most_ahead = max(_LEAST_AHEAD, self._most_ahead // 2)
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**asked.pauses)
        pause *= random.uniform(0.5, 1.0)  # noqa: S311 -- spreads readers, hides nothing
        paused = asked.paused_seconds + pause
        not_before = time.monotonic() + pause
        self._later.append(
            replace(asked, pauses=asked.pauses + 1, paused_seconds=paused, not_before=not_before)
        )
        return True

    def _lose(self, loss: Loss) -> None:
        self._frames.forget(loss.connection)
        address = self._links.addresses[loss.bookie]
        lost = [asked for asked in self._asked if asked.bookie == loss.bookie]
        self._asked = [asked for asked in self._asked if asked.bookie != loss.bookie]
        if (
            loss.hung_up
            and any(asked.is_batched for asked in lost)
            and not MEMORY.has_answered_batches(address)
        ):
            # So BookKeeper before 4.17 answers a BATCH_READ. It has refused no entry: what else was on its way there
            # is asked for again, one by one; those of the BATCH_READ follow, as they still lie ahead.
            MEMORY.refuses_batches(address)
            for single in (single for asked in lost if asked.batch is None for single in asked.one_by_one()):
                self._ask(single)
            return
        MEMORY.avoid(address)
        for asked in lost:
            if asked.batch is None:
                self._ask_next(asked, loss.reason)
            else:
                self._ahead += 1
                first = asked.entries.start
                self._ask_next(Asked(range(first, first + 1), asked.bookie), loss.reason)
