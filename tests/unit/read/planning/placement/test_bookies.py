"""The requests about bookies, and which of them are sent at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.early_request import EarlyRequest
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, with_striping
from pyspark_pulsar.read.planning.placement import bookies

A, B = (TopicPartition.parse(name) for name in "ab")
METADATA = (
    "LedgerMetadata{formatVersion=3, ensembleSize=1, writeQuorumSize=1, ackQuorumSize=1, state=CLOSED, length=100, "
    "lastEntryId=9, digestType=CRC32C, password=base64:, ensembles={0=[b:3181]}, customMetadata={}}"
)


class Admin:
    """The used part of `AdminClient`. Each of the first two requests waits until the other one arrives."""

    def __init__(self, *, lists: bool = True) -> None:
        self.bookies = self.topics = self
        self.striped: list[TopicPartition] = []
        self._lists = lists
        self._both = threading.Barrier(2)
        pool = ThreadPoolExecutor(8)
        self.map, self.begin = pool.map, pool.submit

    def ids(self) -> tuple[str, ...]:
        self._both.wait(60)
        if not self._lists:
            raise PermissionDenied("no superuser")
        return ("other:3181",)

    def internal_stats(self, partition: TopicPartition, *, metadata: bool) -> dict[str, Any]:
        assert metadata
        if not self.striped:
            self._both.wait(60)
        self.striped.append(partition)
        return {"ledgers": [{"ledgerId": 7, "metadata": METADATA}]}


@pytest.mark.parametrize("lists", [True, False])
def test_bookies_and_striping_are_requested_at_the_same_time(*, lists: bool) -> None:
    """An expensive request is sent only if no broker lists the bookies."""
    few = TopicLedgers((Ledger(7, 10, 100, None, 1000),))
    many = TopicLedgers(tuple(Ledger(number, 10, 100, None, 1000) for number in range(7, 1_000)))
    touched = {A: (few, {7}), B: (many, {7})}
    admin = Admin(lists=lists)
    options = ReadOptions(service_url="pulsar://x:1", topic="a")
    known: Any = {A: few, B: many}
    present, known = bookies._list_bookies(options, admin, touched, known, None)  # type: ignore[arg-type]
    assert present.ids == (("b:3181", "other:3181") if lists else ("b:3181",))
    assert admin.striped == ([A] if lists else [A, B])
    assert known.keys() == {A, B}
    assert known[A].ledgers[0].metadata is not None
    assert (known[B].ledgers[0].metadata is None) == lists


@pytest.mark.parametrize("is_recent", [True, False])
def test_a_recent_early_request_is_not_repeated(monkeypatch: pytest.MonkeyPatch, *, is_recent: bool) -> None:
    striped = with_striping(
        TopicLedgers((Ledger(7, 10, 100, None, 1000),)), {"ledgers": [{"ledgerId": 7, "metadata": METADATA}]}
    )
    asked: list[str] = []
    admin: Any = SimpleNamespace(
        begin=lambda *given: asked.append("bookies") or answered(("late:3181",)), map=map
    )
    ahead = EarlyRequest(answered(("other:3181",)))
    monkeypatch.setattr("pyspark_pulsar.read.planning.early_request._SECONDS", 5.0 if is_recent else -1.0)
    options = ReadOptions(service_url="pulsar://x:1", topic="a")
    present, known = bookies._list_bookies(options, admin, {A: (striped, {7})}, {A: striped}, ahead)
    assert present.ids == ("b:3181", "other:3181" if is_recent else "late:3181")
    assert asked == ([] if is_recent else ["bookies"])
    assert known == {A: striped}


@pytest.mark.parametrize("read_from", ["auto", "bookie"])
def test_an_early_refusal_of_the_striping_counts_like_a_refusal_now(read_from: str) -> None:
    fault = ConnectionFailed("down")
    untold = TopicLedgers((Ledger(7, 10, 100, None, 1000),), striping_fault=fault)
    admin: Any = SimpleNamespace(map=map)
    options = ReadOptions(service_url="pulsar://x:1", topic="a", read_from=read_from)
    ahead = EarlyRequest(answered(("other:3181",)))
    if read_from == "bookie":
        with pytest.raises(ConnectionFailed, match="down"):
            bookies._list_bookies(options, admin, {A: (untold, {7})}, {A: untold}, ahead)
        return
    present, known = bookies._list_bookies(options, admin, {A: (untold, {7})}, {A: untold}, ahead)
    assert present.ids == ("other:3181",)
    assert known == {A: untold}


def answered(ids: tuple[str, ...]) -> Future[bookies.PresentBookies]:
    answer: Future[bookies.PresentBookies] = Future()
    answer.set_result(bookies.PresentBookies(ids))
    return answer
