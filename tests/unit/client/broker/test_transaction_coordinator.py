"""The partitions that a transaction remembers, and the time until which it accepts messages."""

import time
from collections.abc import Sequence

import pytest

from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators, OpenTransaction
from pyspark_pulsar.errors import TransactionEnded
from pyspark_pulsar.model.transaction_id import TransactionId


class RecordedRequests(Coordinators):
    """A coordinator that records its requests."""

    def __init__(self) -> None:
        self.added: list[tuple[TransactionId, list[str]]] = []

    def add_partitions(self, transaction: TransactionId, partitions: Sequence[str]) -> None:
        self.added.append((transaction, list(partitions)))


def test_the_coordinator_gets_one_request_for_each_partition() -> None:
    asked = RecordedRequests()
    transaction = OpenTransaction(asked, (1, 2))
    for partitions in (["marker", "a"], ["a"], ["b", "a", "c"], [], ["c"]):
        transaction.add_partitions(partitions)
    assert asked.added == [((1, 2), ["marker", "a"]), ((1, 2), ["b", "c"])]
    assert transaction.partitions == {"marker", "a", "b", "c"}


def test_no_message_when_the_time_is_over() -> None:
    OpenTransaction(RecordedRequests(), (1, 2)).require_time()
    now = time.monotonic()
    OpenTransaction(RecordedRequests(), (1, 2), ends=now + 60).require_time()
    with pytest.raises(TransactionEnded, match=r"transaction \(1,2\): .*raise transactionTimeoutMs"):
        OpenTransaction(RecordedRequests(), (1, 2), ends=now).require_time()
