"""Tests of transaction outcomes, with fixed answers. Tests in tests/integration use a real broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyspark_pulsar.client.admin.transaction_buffer import TransactionOutcomes
from pyspark_pulsar.errors import LedgerUnavailable, PermissionDenied, ProtocolError, TopicNotFoundError
from pyspark_pulsar.model.topic import TopicPartition

PARTITION = TopicPartition.parse("persistent://public/default/a%b:c-partition-3")
READY = {"state": "Ready", "recoverStartTime": 5, "totalAbortedTransactions": 1}
INITIALIZING = {"state": "Initializing", "recoverStartTime": 5, "totalAbortedTransactions": 0}
COMMITTED, ABORTED = {"aborted": False}, {"aborted": True}


class Answers:
    """A client that returns fixed answers in order, and raises an answer that is an exception."""

    def __init__(self, *answers: Any) -> None:
        self._answers: Iterator[Any] = iter(answers)
        self.paths: list[str] = []

    def get(self, path: str, where: str, version: str = "v2") -> Any:
        assert version == "v3"
        self.paths.append(path.split("/", 1)[1])
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def outcomes(self, load: Callable[[], object] = lambda: pytest.fail("loaded")) -> TransactionOutcomes:
        return TransactionOutcomes(self, PARTITION, load, patience_seconds=0.3)


def test_one_question_answers_all_where_nothing_was_aborted() -> None:
    answers = Answers(READY | {"totalAbortedTransactions": 0})
    assert answers.outcomes().aborted([(1, 2), (3, 4)]) == {(1, 2): False, (3, 4): False}
    assert answers.paths == ["transactionBufferStats/public/default/a%25b%3Ac-partition-3"]


def test_each_transaction_is_requested_between_two_reads_of_the_buffer() -> None:
    answers = Answers(READY, COMMITTED, READY)
    assert answers.outcomes().aborted([(2**64 - 1, 7)]) == {(2**64 - 1, 7): False}
    assert answers.paths[1] == "transactionInBufferStats/public/default/a%25b%3Ac-partition-3/-1/7"


def test_answers_of_a_buffer_that_was_loaded_again_are_requested_again() -> None:
    answers = Answers(READY, COMMITTED, READY | {"recoverStartTime": 6}, READY, ABORTED)
    assert answers.outcomes().aborted([(0, 1)]) == {(0, 1): True}


def test_a_recovering_buffer_is_waited_for() -> None:
    assert Answers(INITIALIZING, INITIALIZING, READY, ABORTED).outcomes().aborted([(0, 1)]) == {(0, 1): True}
    with pytest.raises(
        LedgerUnavailable, match=r"expected the topic's transaction buffer to recover .*Initializing"
    ):
        Answers(*[INITIALIZING] * 20).outcomes().aborted([(0, 1)])


def test_a_topic_that_is_not_loaded_is_loaded() -> None:
    loads: list[None] = []
    gone = TopicNotFoundError("not found")
    answers = Answers(gone, READY, gone, gone, READY, COMMITTED, READY)
    assert answers.outcomes(lambda: loads.append(None)).aborted([(0, 1)]) == {(0, 1): False}
    assert len(loads) == 2
    restless = Answers(*[READY, COMMITTED, READY | {"recoverStartTime": 6}] * 9)
    with pytest.raises(LedgerUnavailable, match="the topic was loaded 5 times"):
        restless.outcomes().aborted([(0, 1)])


def test_an_unknown_resource_is_not_requested_without_end() -> None:
    loads: list[None] = []
    answers = Answers(*[TopicNotFoundError("not found")] * 1_000)
    with pytest.raises(TopicNotFoundError):
        answers.outcomes(lambda: loads.append(None)).aborted([(0, 1)])
    assert len(loads) <= 10


def test_an_open_transaction_has_no_outcome() -> None:
    answers = Answers(READY, {"aborted": False, "startPosition": "7:1"})
    with pytest.raises(LedgerUnavailable, match=r"transaction \(0,1\) to have ended, got an open one"):
        answers.outcomes().aborted([(0, 1)])


@pytest.mark.parametrize("answer", [None, [], {"aborted": "no"}])
def test_other_answers_are_refused(answer: Any) -> None:
    with pytest.raises(ProtocolError):
        Answers(READY, answer).outcomes().aborted([(0, 1)])


def test_a_failed_request_is_not_repeated() -> None:
    answers = Answers(PermissionDenied("no right"))
    outcomes = answers.outcomes()
    for _ in range(2):
        with pytest.raises(PermissionDenied):
            outcomes.aborted([(0, 1)])
    assert len(answers.paths) == 1
