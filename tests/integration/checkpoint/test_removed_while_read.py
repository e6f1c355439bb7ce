"""A process that reads slowly while the owner's upkeep removes the records: it finds the state after the
snapshot.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from integration.checkpoint.conftest import ENTRIES, Store, topic_of
from integration.checkpoint.store_process import StoreProcess
from integration.checkpoint.test_space import ledgers, trim
from integration.official import Admin, await_true

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.checkpoint import Checkpoint
from pyspark_pulsar.checkpoint.clients import Cluster, ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index import follower, replay
from pyspark_pulsar.checkpoint.index.records import Kind, Record, encode, new_id
from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.checkpoint.messages.writer import LogWriter
from pyspark_pulsar.checkpoint.store import Store as OwnStore
from pyspark_pulsar.errors import CheckpointPathNotFound
from pyspark_pulsar.tools.standalone import LocalPulsar

FILES = 2 * ENTRIES + 5
CHUNK = 20 * 1024
"""The bytes of a file that is stored in one chunk."""
PERMITS = 5
"""The permits of the slow reader: the broker holds back the other entries, so that the reader notices a removal."""

Body = Callable[[], object]


class Gate:
    """A gate at which the thread that reads an index stops after `closed_at` records."""

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
    with OwnStore(settings_of(short_ledgers)) as store:
        yield store.checkpoint(parse_path(place).checkpoint)


def settings_of(server: LocalPulsar) -> ClusterSettings:
    return ClusterSettings.parse({"service.url": server.service_url})


@contextmanager
def running(ask: Body) -> Iterator[Future[object]]:
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


def put_garbage(owner: StoreProcess, place: str, rng: random.Random) -> None:
    """Write more than two ledgers of unneeded content: more than upkeep leaves."""
    for _ in range(2 * ENTRIES + 20):
        owner.put(f"{place}/garbage", rng.randbytes(CHUNK), "q")


def stats(admin: Admin, topic: str) -> dict[str, Any]:
    return dict(admin._must("GET", topic.replace("://", "/") + "/internalStats"))


def give_back(owner: StoreProcess, admin: Admin, place: str, log: str) -> None:
    """Run a round of upkeep; return when the broker has removed the first ledger of the log."""
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
    # The first record is the last one, in which a search looks for the position to begin at. The record knows
    # of no snapshot.
    gate.close_in(4)
    with running(lambda: names(slow)) as listed:
        assert gate.reached.wait(60)
        give_back(owner, short_admin, place, "index")
        gate.open()
        assert listed.result(60) == [f"{number:04}" for number in range(FILES)]
    assert 4 < gate.records < FILES


def test_a_gap_that_no_record_names(
    store: Store, place: str, slow: Checkpoint, gate: Gate, short_ledgers: LocalPulsar, short_admin: Admin
) -> None:
    """The first record of a ledger is by a writer that has not seen the end of the previous ledger."""
    owner, index = store(), topic_of(place, "index")
    owner.call("take_over", path=place, owner="q")
    files = 0
    while stats(short_admin, index)["currentLedgerEntries"] < ENTRIES - 1:
        put_files(owner, place, range(files, files + 1))
        files += 1
    put_files(owner, place, range(files, files + 1))
    await_true("the next ledger", lambda: len(ledgers(short_admin, index)) == 2)
    writer = LogWriter(Cluster(settings_of(short_ledgers)).new_client(), index, 60)
    record = Record(Kind.MKDIR, new_id(), "q", 0, None, None, {"path": "g"})
    assert writer.wait(writer.send(encode(record), Deadline.after(60)), Deadline.after(60))[1] == 0
    writer.close()
    # What follows is of writers that have seen it, and in the same ledger.
    assert "g" in owner.names(place)
    put_files(owner, place, range(files + 1, ENTRIES + 10))
    gate.close_in(4)
    with running(lambda: names(slow)) as listed:
        assert gate.reached.wait(60)
        give_back(owner, short_admin, place, "index")
        gate.open()
        assert listed.result(60) == [f"{number:04}" for number in range(ENTRIES + 10)]


def test_a_change_while_the_state_is_looked_for(
    store: Store, place: str, slow: Checkpoint, gate: Gate
) -> None:
    owner = store()
    owner.call("take_over", path=place, owner="q")
    put_files(owner, place, range(3))
    gate.close_in(2)
    index = slow.logs(Deadline.after(60)).index
    with running(lambda: index.append(Kind.MKDIR, "q", Deadline.after(30), {"path": "g"})) as appended:
        assert gate.reached.wait(60)
        time.sleep(1)
        gate.open()
        assert appended.result(60) is Outcome.DONE


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
    with running(lambda: names(slow)) as listed:
        gate.open()
        assert listed.result(60) == [f"{number:04}" for number in range(FILES)]


@contextmanager
def lagging(owner: StoreProcess, place: str, gate: Gate) -> Iterator[None]:
    """Hold back the last records from this process until a call waits for them."""
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
    with lagging(owner, place, gate):
        give_back(owner, short_admin, place, "index")
    assert slow.read(opened.id, path, 0, 10, Deadline.after(60)) == b"1"


def test_chunks_that_upkeep_has_moved(
    store: Store, place: str, slow: Checkpoint, gate: Gate, short_admin: Admin, rng: random.Random
) -> None:
    owner = store()
    owner.call("take_over", path=place, owner="q")
    kept, body = f"{place}/kept", rng.randbytes(CHUNK)
    owner.upload(kept, body, "q")
    # Of the ledger of `kept` nearly all is garbage, so that upkeep moves what is not.
    put_garbage(owner, place, rng)
    opened, _ = slow.open(("kept",), Deadline.after(60))
    with lagging(owner, place, gate):
        give_back(owner, short_admin, place, "content")
    assert slow.read(opened.id, ("kept",), 0, len(body), Deadline.after(60)) == body


def test_content_of_a_file_that_was_deleted_is_not_reported_as_lost(
    store: Store, place: str, slow: Checkpoint, short_admin: Admin, rng: random.Random
) -> None:
    owner = store()
    owner.call("take_over", path=place, owner="q")
    owner.put(f"{place}/deleted", rng.randbytes(CHUNK), "q")
    opened, _ = slow.open(("deleted",), Deadline.after(60))
    assert owner.call("delete", path=f"{place}/deleted", owner="q", recursive=False) is True
    put_garbage(owner, place, rng)
    give_back(owner, short_admin, place, "content")
    with pytest.raises(CheckpointPathNotFound, match="was deleted or replaced"):
        slow.read(opened.id, ("deleted",), 0, opened.length, Deadline.after(60))
