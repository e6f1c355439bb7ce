"""A micro-batch is planned only if brokers and ledgers show that none of it was removed unread."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.log_end import RemovedEntries
from pyspark_pulsar.read.microbatch.checked_plan import CheckedPlanner
from pyspark_pulsar.read.microbatch.ends.readable_ends import ReadableEnds
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan

A, B = TopicPartition.parse("a"), TopicPartition.parse("b")
BEGIN, END = Position(5, 3), Position(8, 2)
FORMER, REACHED = StreamOffset({A: BEGIN, B: BEGIN}), StreamOffset({A: END, B: END})
SOME = RemovedEntries(Position(8, 0), 4)
UNCLEAR = RemovedEntries(Position(8, 0), None)
DELETED = RemovedEntries(None, None)
LEFT = TopicLedgers((Ledger(8, 2, 20, 1, 1),))

Removed = Mapping[TopicPartition, RemovedEntries]


class Cluster:
    """A broker and a planner. `answers` has the broker's successive answers about removals; the last one repeats."""

    def __init__(self, *answers: Removed, ledgers: TopicLedgers | None = None, lists: bool = True) -> None:
        self._answers = list(answers)
        self._known = ledgers
        self.tables: dict[TopicPartition, Position] = {}
        self.loaded_at_once = False
        self.asked: list[tuple[Mapping[TopicPartition, Position], bool]] = []
        self.planned: list[list[RangeRequest]] = []
        self.may_read_directly = True
        self.shown: set[TopicPartition] = set()
        self.forgotten: set[TopicPartition] = set()
        self.ledgers = SimpleNamespace(is_possible=lists, forget_ahead=self.forgotten.update)

    def removed(self, starts: Mapping[TopicPartition, Position], *, anew: bool = False) -> Removed:
        self.asked.append((starts, anew))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return {partition: what for partition, what in answer.items() if partition in starts}

    def check_permissions(self, partitions: Iterable[TopicPartition]) -> None:
        self.shown |= set(partitions)

    def skip_tables(
        self, positions: Mapping[TopicPartition, Position], *, at_once: bool = False
    ) -> dict[TopicPartition, Position]:
        self.loaded_at_once |= at_once
        return {
            partition: max(position, self.tables.get(partition, position)) if at_once else position
            for partition, position in positions.items()
        }

    def plan(self, requests: Iterable[RangeRequest]) -> list[PartitionPlan]:
        self.planned.append(list(requests))
        return [
            PartitionPlan(request.partition, request.start, request.end, self._known, ())
            for request in self.planned[-1]
        ]


def planned(
    cluster: Cluster, retained: dict[TopicPartition, Position] | None = None, **options: Any
) -> list[PartitionPlan]:
    given = ReadOptions(service_url="pulsar://x:6650", topic="a", **options)
    parts: Any = cluster
    readable = ReadableEnds(given)
    try:
        return CheckedPlanner(given, parts, readable, parts, lambda _: retained or {}).plan(FORMER, REACHED)
    finally:
        readable.close()


def test_without_removals_the_planner_does_not_check_again() -> None:
    cluster = Cluster({})
    assert [plan.partition for plan in planned(cluster)] == [A, B]
    assert [request.is_whole for request in cluster.planned[0]] == [True, True]
    assert cluster.shown == {A, B}, "that the role may consume them"
    assert not cluster.loaded_at_once


def test_what_is_removed_is_loss(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DataLossError, match="at least 4 entries after 5:3:0 are gone"):
        planned(Cluster({A: SOME}))
    with caplog.at_level(logging.WARNING):
        plans = planned(Cluster({A: SOME}), fail_on_data_loss=False)
    assert [plan.partition for plan in plans] == [A, B]
    assert "at least 4 entries" in caplog.text


def test_a_deleted_topic_is_not_planned() -> None:
    with pytest.raises(DataLossError, match="the topic was deleted"):
        planned(Cluster({A: DELETED}))
    cluster = Cluster({A: DELETED})
    assert [plan.partition for plan in planned(cluster, fail_on_data_loss=False)] == [B]
    assert cluster.shown == {B}


def test_the_planner_decides_about_a_removed_ledger() -> None:
    """The planner may have seen the ledger end where the range begins."""
    cluster = Cluster({A: UNCLEAR}, ledgers=LEFT)
    assert [plan.partition for plan in planned(cluster)] == [A, B]
    assert [request.is_whole for request in cluster.planned[0]] == [False, True]
    assert cluster.forgotten == {A}, "a list that was begun before may be older"


@pytest.mark.parametrize("lists", [True, False])
def test_a_removed_ledger_that_the_planner_does_not_know_is_a_loss(lists: bool) -> None:
    cluster = Cluster({A: UNCLEAR}, lists=lists)
    with pytest.raises(DataLossError, match="the ledger of 5:3:0 is gone"):
        planned(cluster)
    assert len(cluster.planned) == lists


def test_removed_entries_in_a_table_are_no_loss() -> None:
    cluster = Cluster({A: SOME})
    cluster.tables = {A: END}
    assert [plan.partition for plan in planned(cluster)] == [A, B]
    assert cluster.loaded_at_once
    assert cluster.asked[-1][0].keys() == {B}, "no ledger is needed for the other"


def test_ledgers_removed_between_the_answer_and_their_list_are_checked_again() -> None:
    cluster = Cluster({}, {A: SOME}, ledgers=LEFT)
    with pytest.raises(DataLossError, match="at least 4 entries"):
        planned(cluster)
    assert len(cluster.planned) == 1
    assert [anew for _, anew in cluster.asked[:2]] == [False, True]
    cluster = Cluster({}, ledgers=LEFT)
    planned(cluster)
    assert len(cluster.planned) == 1, "only the cursor had been moved"


def test_compacted_entries_are_no_loss_in_a_compacted_view() -> None:
    cluster = Cluster({}, ledgers=LEFT)
    planned(cluster, read_compacted=True)
    assert [request.is_whole for request in cluster.planned[0]] == [False, False]
    assert len(cluster.asked) == 1


def test_a_subscription_at_the_start_proves_that_nothing_was_removed_unread() -> None:
    starts = {A: BEGIN, B: BEGIN}
    assert [plan.partition for plan in planned(Cluster({A: SOME, B: UNCLEAR}), starts)] == [A, B]
    with pytest.raises(DataLossError, match="at least 4 entries after 5:3:0 are gone"):
        planned(Cluster({A: SOME, B: UNCLEAR}), {A: Position(5, 4), B: BEGIN})
    # A subscription retains no message of a deleted topic.
    with pytest.raises(DataLossError, match="was deleted"):
        planned(Cluster({A: DELETED}), starts)
