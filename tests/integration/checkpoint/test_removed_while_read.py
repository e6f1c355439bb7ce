"""A process reads slowly while the owner's upkeep gives back what it reads: it finds the state behind the snapshot."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from integration.checkpoint.conftest import ENTRIES, Store, topic_of
from integration.checkpoint.store_process import StoreProcess
from integration.checkpoint.test_space import ledgers, trim
from integration.official import Admin, await_true

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.cluster import ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index import follower, replay
from pyspark_pulsar.checkpoint.index.records import Record
from pyspark_pulsar.checkpoint.store import Store as OwnStore
from pyspark_pulsar.standalone import LocalPulsar

FILES = 2 * ENTRIES + 5
PERMITS = 5
"""Of the slow reader: the broker keeps the rest to itself, so that a removal is seen."""

Body = Callable[[], object]


class Gate:
    """Where the thread that reads an index stands still when `closed_at` records have come."""

    def __init__(self) -> None:
        self.closed_at = -1
        self.records = 0
        self.reached = threading.Event()
        self._opened = threading.Event()

    def decode(self, data: bytes, where: str) -> Record:
        self.records += 1
        if self.records == self.closed_at:
            self.reached.set()
            assert self._opened.wait(100)
        return _decode(data, where)

    def close_in(self, records: int) -> None:
        self.closed_at = self.records + records

    def open(self) -> None:
        self.closed_at = -1
        self._opened.set()


_decode = follower.decode


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(follower, "decode", gate.decode)
    monkeypatch.setattr(follower, "_PERMITS", PERMITS)
    yield gate
    gate.open()


@pytest.fixture
def slow(short_ledgers: LocalPulsar, place: str) -> Iterator[Checkpoint]:
    """The checkpoint as a store of this process sees it."""
    settings = ClusterSettings.parse({"service.url": short_ledgers.service_url})
    with OwnStore(settings) as store:
        yield store.checkpoint(parse_path(place).checkpoint)


@contextmanager
def begun(ask: Body) -> Iterator[Future[object]]:
    with ThreadPoolExecutor(1) as threads:
        yield threads.submit(ask)


def names(checkpoint: Checkpoint) -> list[str]:
    return [status.name for status in checkpoint.list(("f",), Deadline.after(60))]


def put_files(owner: StoreProcess, place: str, numbers: range) -> None:
    for answer in [
        owner.begin("put", b"%d" % number, path=f"{place}/f/{number:04}", owner="q", mode="overwrite")
        for number in numbers
    ]:
        answer.result(timeout=60)


def give_back(owner: StoreProcess, admin: Admin, place: str, log: str) -> None:
    """A round of upkeep; returns when the broker has removed the first ledger of the log."""
    topic = topic_of(place, log)
    first = ledgers(admin, topic)[0]["ledgerId"]
    owner.call("maintain", path=place, owner="q", grace_seconds=0)

    def is_gone() -> bool:
        trim(admin, topic)
        return ledgers(admin, topic)[0]["ledgerId"] != first

    await_true(f"the end of ledger {first} of the {log}", is_gone)


def test_a_search_that_lags(
    store: Store, place: str, slow: Checkpoint, gate: Gate, short_admin: Admin
) -> None:
    owner = store()
    owner.call("take_over", path=place, owner="q")
    put_files(owner, place, range(FILES))
    # The first record is the last one, of which a search asks where to begin. It knows of no snapshot.
    gate.close_in(4)
    with begun(lambda: names(slow)) as listed:
        assert gate.reached.wait(60)
        give_back(owner, short_admin, place, "index")
        gate.open()
        assert listed.result(60) == [f"{number:04}" for number in range(FILES)]
    assert 4 < gate.records < FILES


def test_a_follower_that_lags(
    store: Store, place: str, slow: Checkpoint, gate: Gate, short_admin: Admin
) -> None:
    owner = store()
    owner.call("take_over", path=place, owner="q")
    put_files(owner, place, range(3))
    assert len(names(slow)) == 3
    gate.close_in(1)
    put_files(owner, place, range(3, FILES))
    assert gate.reached.wait(60)
    give_back(owner, short_admin, place, "index")
    with begun(lambda: names(slow)) as listed:
        gate.open()
        assert listed.result(60) == [f"{number:04}" for number in range(FILES)]


@contextmanager
def behind(owner: StoreProcess, place: str, gate: Gate) -> Iterator[None]:
    """While this process has not read the last records, until a call of it waits for them."""
    gate.close_in(1)
    owner.put(f"{place}/another", b"", "q")
    assert gate.reached.wait(60)
    yield
    timer = threading.Timer(2.0, gate.open)
    timer.start()


def test_small_content_that_a_snapshot_has_moved(
    store: Store,
    place: str,
    slow: Checkpoint,
    gate: Gate,
    short_admin: Admin,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay.Bodies, "get", lambda *_: None)
    owner = store()
    owner.call("take_over", path=place, owner="q")
    put_files(owner, place, range(FILES))
    path = ("f", "0001")
    opened, body = slow.open(path, Deadline.after(60))
    assert body == b"1"
    with behind(owner, place, gate):
        give_back(owner, short_admin, place, "index")
    assert slow.read(opened.id, path, 0, 10, Deadline.after(60)) == b"1"


def test_chunks_that_upkeep_has_moved(
    store: Store, place: str, slow: Checkpoint, gate: Gate, short_admin: Admin, rng: random.Random
) -> None:
    owner = store()
    owner.call("take_over", path=place, owner="q")
    kept, body = f"{place}/kept", rng.randbytes(300 * 1024)
    owner.upload(kept, body, "q")
    # Of the ledger of `kept` nearly all is garbage, so that upkeep moves what is not.
    for _ in range(10):
        owner.upload(f"{place}/garbage", rng.randbytes(ENTRIES * 256 * 1024), "q")
    opened, _ = slow.open(("kept",), Deadline.after(60))
    with behind(owner, place, gate):
        give_back(owner, short_admin, place, "content")
    assert slow.read(opened.id, ("kept",), 0, len(body), Deadline.after(60)) == body
