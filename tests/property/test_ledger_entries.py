"""Bookies that lack, damage, refuse, delay, cut off and mix up entries.

The reader returns each entry once, in order, or raises `LedgerUnavailable`. It returns all entries if each
has one replica on a bookie without faults.

The bookies here are tables in memory that answer in the protocol's frames. Tests in
tests/integration/cluster show how real bookies fail.
"""

from __future__ import annotations

import itertools
import random
import struct
import time
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from pyspark_pulsar.client.bookkeeper import read_state, requests
from pyspark_pulsar.client.bookkeeper.connection import response_status
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.connections import Arrival, ConnectionLost
from pyspark_pulsar.client.bookkeeper.discovery import GuessedWriteSets
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.client.bookkeeper.ledger_reader import LedgerReader
from pyspark_pulsar.client.bookkeeper.write_set import KnownWriteSets
from pyspark_pulsar.client.ledger import Ensemble, LedgerMetadata
from pyspark_pulsar.errors import LedgerUnavailable

LEDGER = (1 << 40) + 7
READ_ENTRY, BATCH_READ = 2, 7
_NUMBERS = itertools.count()
_MOST_IDLE = 2_000


@dataclass
class Bookie:
    entries: dict[int, bytes]
    knows_batches: bool
    faults: float
    """The probability of a wrong answer."""
    random: random.Random
    busy: int = 0
    """The number of times the bookie reports an overload. An overload is no fault."""
    connection: int = 0
    incoming: bytes = b""
    outgoing: deque[bytes] = field(default_factory=deque)
    lost: str = ""
    hung_up: bool = False
    silent: bool = False
    unsent: float = 0.5
    """The probability that answers get lost when the bookie closes the connection on an unknown BATCH_READ."""

    def take(self, requests: bytes) -> None:
        self.incoming += requests
        answers = []
        while len(self.incoming) >= 4 and not self.lost:
            length = struct.unpack(">I", self.incoming[:4])[0]
            frame, self.incoming = self.incoming[4 : 4 + length], self.incoming[4 + length :]
            answers.append(self._answer(frame))
        self.random.shuffle(answers)
        self.outgoing.extend(self._cut(b"".join(answers)))

    def _cut(self, data: bytes) -> Iterator[bytes]:
        while data:
            at = self.random.choice((1, 7, 100, 5_000, len(data)))
            yield data[:at]
            data = data[at:]

    def _answer(self, frame: bytes) -> bytes:
        header, ledger, entry = struct.unpack(">Iqq", frame[:20])
        operation = header >> 16 & 0xFF
        rest = frame[20:28]
        if operation == BATCH_READ and not self.knows_batches:
            self.lost, self.hung_up = "closed the connection", True
            if self.random.random() < self.unsent:
                self.outgoing.clear()
            return b""
        code, damaged = self._fault()
        if code == response_status.OK and entry not in self.entries:
            code = response_status.NO_ENTRY if self.entries else response_status.NO_LEDGER
        body = b""
        if code == response_status.OK and operation == READ_ENTRY:
            body = self._body(entry, damaged)
        elif code == response_status.OK:
            most = self.random.randint(1, struct.unpack(">i", frame[28:32])[0])
            for each in itertools.takewhile(self.entries.__contains__, range(entry, entry + most)):
                stored = self._body(each, damaged and self.random.random() < 0.5)
                body += struct.pack(">I", len(stored)) + stored
        answer = struct.pack(">Iiqq", header, code, ledger, entry) + rest + body
        return struct.pack(">I", len(answer)) + answer

    def _fault(self) -> tuple[int, bool]:
        if self.busy > 0 and self.random.random() < 0.5:
            self.busy -= 1
            return response_status.TOO_MANY_REQUESTS, False
        if self.random.random() >= self.faults:
            return response_status.OK, False
        kind = self.random.choice(("damage", "lack", "disk", "hang up", "silence"))
        if kind == "hang up":
            self.lost, self.hung_up = "closed the connection", True
        if kind == "silence":
            self.silent = True
        codes = {"lack": response_status.NO_ENTRY, "disk": 101}
        return codes.get(kind, response_status.OK), kind == "damage"

    def _body(self, entry: int, damaged: bool) -> bytes:
        data = self.entries[entry]
        return struct.pack(">qqqq", LEDGER, entry + 1 if damaged else entry, 0, 0) + data


class Connections:
    """A substitute for `BookieConnections`, to bookies in memory.

    A silent bookie is lost as soon as nothing else arrives.
    """

    timeout_seconds = 5.0

    def __init__(self, bookies: dict[str, Bookie], chance: random.Random) -> None:
        self.bookies = bookies
        number = next(_NUMBERS)
        self.addresses = {name: BookieAddress(f"{name}-{number}", 1) for name in bookies}
        self._random = chance
        self._connections = 0
        self._idle = 0

    def send(self, name: str, requests: bytes) -> None:
        bookie = self.bookies[name]
        if bookie.connection == 0:
            self._connections += 1
            bookie.connection = self._connections
        if not bookie.silent:
            bookie.take(requests)

    def drop(self, name: str) -> None:
        bookie = self.bookies[name]
        bookie.connection, bookie.incoming, bookie.lost, bookie.silent = 0, b"", "", False
        bookie.outgoing.clear()

    def wait(self, expecting: Collection[str], seconds: float) -> list[Arrival | ConnectionLost]:
        events: list[Arrival | ConnectionLost] = []
        for name in sorted(expecting, key=lambda _: self._random.random()):
            bookie = self.bookies[name]
            if bookie.outgoing:
                events.append(Arrival(name, bookie.connection, bookie.outgoing.popleft()))
            elif bookie.lost:
                events.append(ConnectionLost(name, bookie.connection, bookie.lost, bookie.hung_up))
                self.drop(name)
        if not events:
            events = [
                ConnectionLost(name, self.bookies[name].connection, "did not answer")
                for name in expecting
                if self.bookies[name].silent
            ]
            for event in events:
                self.drop(event.bookie)
        self._idle = 0 if events or seconds < 1 else self._idle + 1
        assert self._idle < _MOST_IDLE, f"waits for {expecting} without end"
        return events


@dataclass
class Cluster:
    metadata: LedgerMetadata
    bookies: dict[str, Bookie]
    entries: list[bytes]
    is_served: bool
    """Each entry has a replica on a bookie without faults."""


def small(patch: pytest.MonkeyPatch, size: int) -> None:
    """Shorten the pauses, and limit the memory to this number of bytes."""
    for module, name, value in (
        (requests, "_FIRST_PAUSE_SECONDS", 1e-4),
        (requests, "_LONGEST_PAUSE_SECONDS", 1e-3),
        (requests, "_AHEAD_BYTES", size),
        (read_state, "_HOLD_BYTES", size * 3 // 2),
    ):
        patch.setattr(module, name, value)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Cluster, random.Random]:
    # Hypothesis likes small numbers, and one bookie without changes has little to show.
    chance = random.Random(draw(st.integers(0, 1 << 32)))
    names = [f"b{number}" for number in range(draw(st.sampled_from((1, 2, 3, 5))))]
    size = chance.randint(1, len(names))
    quorum = chance.randint(1, size)
    count = draw(st.sampled_from((1, 10, 60, 300)))
    changes = sorted({chance.randint(1, count) for _ in range(chance.randrange(4))})
    ensembles = tuple(
        Ensemble(first, tuple(chance.sample(names, size))) for first in (0, *changes) if first < count
    )
    metadata = LedgerMetadata(quorum, "DUMMY", ensembles)
    long = draw(st.booleans())
    entries = [b"%d:" % number + b"x" * (chance.randrange(5_000) if long else 3) for number in range(count)]
    faulty = set(draw(st.lists(st.sampled_from(names), max_size=len(names), unique=True)))
    knows, busy = draw(st.booleans()), draw(st.sampled_from((0, 3, 20)))
    faults = draw(st.sampled_from((0.02, 0.3, 1.0)))
    bookies = {
        name: Bookie({}, knows, faults if name in faulty else 0.0, random.Random(chance.random()), busy)
        for name in names
    }
    known = KnownWriteSets(metadata)
    holders = [known.at(number)[0].bookies_for(number) for number in range(count)]
    for number, names_of_it in enumerate(holders):
        for name in names_of_it:
            bookies[name].entries[number] = entries[number]
    is_served = all(set(each) - faulty for each in holders)
    return Cluster(metadata, bookies, entries, is_served), chance


@given(clusters(), st.booleans(), st.sampled_from((1, 1_000, 50_000, 16 << 20)))
@settings(print_blob=True, deadline=None, max_examples=300)
def test_each_entry_once_in_order_or_an_error(
    drawn: tuple[Cluster, random.Random], told: bool, memory: int
) -> None:
    cluster, chance = drawn
    first = chance.randrange(len(cluster.entries)) if chance.random() < 0.5 else 0
    last = (
        chance.randint(first, len(cluster.entries) - 1) if chance.random() < 0.5 else len(cluster.entries) - 1
    )
    connections = Connections(cluster.bookies, chance)
    sizes = sum(map(len, cluster.entries)) // len(cluster.entries)
    entry_range = EntryRange("t", LEDGER, first, last, "DUMMY", entry_bytes=sizes)
    write_sets = (
        KnownWriteSets(cluster.metadata)
        if told
        else GuessedWriteSets(entry_range, tuple(cluster.bookies), connections)
    )  # type: ignore[arg-type]
    expected, sizes_found = first, 0
    with pytest.MonkeyPatch.context() as patch:
        small(patch, memory)
        try:
            for batch in LedgerReader(entry_range, write_sets, connections):  # type: ignore[arg-type]
                assert batch.first == (LEDGER, expected)
                assert batch.last == (LEDGER, expected + len(batch) - 1)
                expected += len(batch)
                sizes_found += batch.nbytes
            assert expected == last + 1
        except LedgerUnavailable:
            assert not cluster.is_served
    assert sizes_found == sum(len(each) for each in cluster.entries[first:expected])


@dataclass
class BusyBookie(Bookie):
    """A bookie that is overloaded at the first and the second request for entry 2."""

    refusals: int = 2

    def _cut(self, data: bytes) -> Iterator[bytes]:
        yield data

    def _answer(self, frame: bytes) -> bytes:
        header, ledger, entry = struct.unpack(">Iqq", frame[:20])
        if entry != 2 or self.refusals == 0:
            return super()._answer(frame)
        self.refusals -= 1
        answer = struct.pack(">Iiqq", header, response_status.TOO_MANY_REQUESTS, ledger, entry)
        return struct.pack(">I", len(answer)) + answer


def test_a_slow_caller_does_not_count_as_a_slow_bookie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The only bookie of a ledger gets a second request, however long the rows before needed."""
    chance = random.Random(1)
    connections = Connections({"b": BusyBookie(dict.fromkeys(range(4), b"x"), False, 0.0, chance)}, chance)
    connections.timeout_seconds = 0.05
    small(monkeypatch, 16 << 20)
    metadata = LedgerMetadata(1, "DUMMY", (Ensemble(0, ("b",)),))
    found = []
    for batch in LedgerReader(EntryRange("t", LEDGER, 0, 3, "DUMMY"), KnownWriteSets(metadata), connections):  # type: ignore[arg-type]
        found += [batch.first] * len(batch)
        time.sleep(0.1)
    assert found == [(LEDGER, 0), (LEDGER, 0), (LEDGER, 2), (LEDGER, 2)]


def test_an_entry_in_flight_when_an_old_bookie_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reader requests the entry that one bookie lacks from the other, old bookie.

    The old bookie would return entry 2, but closes the connection on a BATCH_READ for the entries after
    it.
    """
    chance = random.Random(1)
    entries = dict.fromkeys(range(6), b"x")
    lacking = Bookie({number: data for number, data in entries.items() if number != 2}, True, 0.0, chance)
    connections = Connections(
        {"lacking": lacking, "old": Bookie(entries, False, 0.0, chance, unsent=1.0)}, chance
    )
    small(monkeypatch, 16 << 20)
    # The reader begins with the bookie at the ledger's number, which is odd.
    metadata = LedgerMetadata(2, "DUMMY", (Ensemble(0, ("old", "lacking")),))
    entry_range = EntryRange("t", LEDGER, 0, 5, "DUMMY")
    batches = list(LedgerReader(entry_range, KnownWriteSets(metadata), connections))  # type: ignore[arg-type]
    assert sum(map(len, batches)) == len(entries)
    assert batches[-1].last == (LEDGER, 5)
