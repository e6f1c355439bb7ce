"""Rounds of many topics: a failed topic is named, and the other topics and the loop continue."""

from __future__ import annotations

import logging
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pulsar.errors import DataLossError, TieringFailed
from pyspark_pulsar.history.columnar.positions import TieredPartition
from pyspark_pulsar.history.tiering import topic_rounds
from pyspark_pulsar.history.tiering.commit import RoundResult
from pyspark_pulsar.history.tiering.ledgers.complete_ledgers import CompletePart
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options

TOPICS = [TopicName.parse(f"t{number}") for number in range(6)]
OPTIONS = parse_options(
    ReadOptions,
    {
        "service.url": "pulsar://h:1",
        "topic": "t0",
        "tierCatalogSecrets": '{"type": "sql", "uri": "postgresql://u:hunter22@h/db"}',
    },
)


class Rounds:
    """Rounds that fail for some topics."""

    options = OPTIONS

    def __init__(self, faults: dict[TopicName, Exception]) -> None:
        self._faults = faults

    def run(self, topic: TopicName) -> RoundResult:
        if topic in self._faults:
            raise self._faults[topic]
        return RoundResult(topic, "t")


@pytest.mark.parametrize(
    "fault",
    [
        pa.ArrowInvalid("Integer value 9007199254740993 not in range"),
        pa.ArrowNotImplementedError("no kernel"),
        OverflowError("date value out of range"),
        OSError(28, "No space left on device"),
        KeyError("ts"),
        MemoryError(),
    ],
)
def test_a_fault_of_a_topic_is_named_and_the_others_continue(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="pyspark_pulsar")
    outcomes: Any = topic_rounds.tier_topics(Rounds({TOPICS[0]: fault}), TOPICS)  # type: ignore[arg-type]
    told = {outcome.topic: outcome.fault for outcome in outcomes}
    assert list(map(told.get, TOPICS[1:])) == [None] * 5
    named = told[TOPICS[0]]
    assert isinstance(named, TieringFailed)
    assert str(named).startswith(
        f"{TOPICS[0]}: expected tiering or upkeep to succeed, got {type(fault).__name__}: "
    )
    (record,) = caplog.records
    assert (record.levelname, record.exc_info and record.exc_info[1]) == ("DEBUG", fault)


def test_an_error_of_ours_stays_and_secrets_are_left_out() -> None:
    faults = {TOPICS[0]: DataLossError("gone"), TOPICS[1]: ValueError("cannot reach u:hunter22@h")}
    outcomes = list(topic_rounds.tier_topics(Rounds(faults), TOPICS[:2]))  # type: ignore[arg-type]
    told = {outcome.topic: outcome.fault for outcome in outcomes}
    assert told[TOPICS[0]] is faults[TOPICS[0]]
    assert "u:***@h" in str(told[TOPICS[1]])


def test_nothing_ends_the_loop(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The loop survives a failed lookup of topics, a failed topic, and a closed output."""
    stop, turns = Event(), iter([OSError("no route"), KeyError("x"), [TOPICS[0]], TOPICS[1:3], TOPICS[1:2]])
    told: list[topic_rounds.TopicOutcome] = []

    def topics(*_: Any, **__: Any) -> list[TopicName]:
        turn = next(turns)
        if isinstance(turn, Exception):
            raise turn
        return turn

    def write_line(outcome: topic_rounds.TopicOutcome) -> None:
        told.append(outcome)
        if len(told) == len(TOPICS[:4]):
            stop.set()
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(topic_rounds, "tiered_topics", topics)
    rounds = Rounds({TOPICS[0]: pa.ArrowInvalid("hostile")})
    is_well = topic_rounds.tier_forever(rounds, 0.001, write_line, stop)  # type: ignore[arg-type]
    assert is_well
    assert [outcome.fault is None for outcome in told] == [False, True, True, True]
    texts = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert (
        "Finding the topics to tier failed: topics: expected tiering or upkeep to succeed, got OSError"
        in texts[0]
    )
    assert f"Reporting the outcome of a topic failed: {TOPICS[0]}" in texts


def test_the_last_turn_says_whether_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Event()
    monkeypatch.setattr(topic_rounds, "tiered_topics", lambda *_, **__: TOPICS[:2])
    rounds = Rounds({TOPICS[0]: pa.ArrowInvalid("hostile")})
    assert not topic_rounds.tier_forever(rounds, 0.001, lambda _: stop.set(), stop)  # type: ignore[arg-type]


def test_a_busy_topic_does_not_hold_the_turn() -> None:
    partition = TopicPartition(TOPICS[0], -1)

    class Busy:
        options = OPTIONS
        cut_rounds = 3
        rounds = 0

        def run(self, topic: TopicName) -> RoundResult:
            self.rounds += 1
            start, end = Position(self.rounds, 0), Position(self.rounds + 1, 0)
            part = CompletePart(start, TieredPartition(end), is_cut=self.rounds <= self.cut_rounds)
            return RoundResult(topic, "t", {partition: part}, files=1)

    busy = Busy()
    (outcome,) = topic_rounds.tier_topics(busy, TOPICS[:1])  # type: ignore[arg-type]
    assert (len(outcome.rounds), outcome.files) == (5, 5)
