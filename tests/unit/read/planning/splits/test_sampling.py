"""The estimate of messages in an entry, from sampled entries."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.splits import sampling

A, B, C = (TopicPartition.parse(name) for name in "abc")
CLIENT: Any = None
FOUND = {each: [LedgerRange(Position(7, 0), Position(7, 100), None)] for each in (A, B)} | {C: []}


def sampled(
    patch: pytest.MonkeyPatch, answers: dict[TopicPartition, int | None]
) -> dict[TopicPartition, float]:
    """`answers`: the messages in an entry of each topic partition, or None if no entry arrives in time."""
    patch.setattr(sampling, "_messages_at", lambda _, asked, __: answers[asked])
    return sampling.entry_records(CLIENT, FOUND)


def test_the_largest_sample_of_each_partition_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sampled(monkeypatch, {A: 10, B: 1}) == {A: 10.0, B: 1.0}


def test_a_partition_without_a_sample_gets_the_mean_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sampled(monkeypatch, {A: 1000, B: None}) == {A: 1000.0, B: 1000.0}


def test_an_entry_counts_as_one_message_without_any_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sampled(monkeypatch, {A: None, B: None}) == {A: 1.0, B: 1.0}
