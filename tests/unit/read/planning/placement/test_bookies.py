"""What is asked about bookies, and what at the same time."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.placement import bookies
from pyspark_pulsar.topic import TopicPartition

A, B = (TopicPartition.parse(name) for name in "ab")
METADATA = (
    "LedgerMetadata{formatVersion=3, ensembleSize=1, writeQuorumSize=1, ackQuorumSize=1, state=CLOSED, length=100, "
    "lastEntryId=9, digestType=CRC32C, password=base64:, ensembles={0=[b:3181]}, customMetadata={}}"
)


class Admin:
    """The part of `AdminClient` that is used. Each of the first two questions waits until the other one came."""

    def __init__(self, *, lists: bool = True) -> None:
        self.bookies = self.topics = self
        self.striped: list[TopicPartition] = []
        self._lists = lists
        self._both = threading.Barrier(2)

    def ids(self) -> tuple[str, ...]:
        self._both.wait(5)
        if not self._lists:
            raise PermissionDenied("no superuser")
        return ("other:3181",)

    def internal_stats(self, partition: TopicPartition, *, metadata: bool) -> dict[str, Any]:
        assert metadata
        if not self.striped:
            self._both.wait(5)
        self.striped.append(partition)
        return {"ledgers": [{"ledgerId": 7, "metadata": METADATA}]}


@pytest.mark.parametrize("lists", [True, False])
def test_which_bookies_there_are_and_where_ledgers_lie_is_asked_at_once(*, lists: bool) -> None:
    """What is out of proportion to what is read is asked only where nobody lists the bookies."""
    few = TopicLedgers((Ledger(7, 10, 100, None, 1000),))
    many = TopicLedgers(tuple(Ledger(number, 10, 100, None, 1000) for number in range(7, 1_000)))
    touched = {A: (few, {7}), B: (many, {7})}
    admin = Admin(lists=lists)
    options = ReadOptions(service_url="pulsar://x:1", topic="a")
    known: Any = {A: few, B: many}
    told, known = bookies._told(options, admin, touched, known)  # type: ignore[arg-type]
    assert told == (("b:3181", "other:3181") if lists else ("b:3181",))
    assert admin.striped == ([A] if lists else [A, B])
    assert known.keys() == {A, B}
    assert known[A].ledgers[0].metadata is not None
    assert (known[B].ledgers[0].metadata is None) == lists
