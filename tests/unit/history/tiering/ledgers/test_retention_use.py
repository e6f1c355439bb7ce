"""The use of retention by ledgers that are not tiered, and the warning about it."""

from __future__ import annotations

import pytest

from pyspark_pulsar.history.tiering import topic_rounds
from pyspark_pulsar.history.tiering.commit import RoundResult
from pyspark_pulsar.history.tiering.ledgers.retention_use import used_share
from pyspark_pulsar.history.tiering.status import PartitionStatus, TierStatus
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions

TOPIC = TopicName.parse("t")


@pytest.mark.parametrize(
    ("minutes", "megabytes", "seconds", "size", "used"),
    [
        (60, -1, 1800.0, 1 << 40, 0.5),
        (-1, 10, 1800.0, 15 << 20, 1.5),
        (60, 10, 1800.0, 8 << 20, 0.8),
        (-1, -1, 1e9, 1 << 40, 0.0),
        (60, -1, 0.0, 1 << 40, 0.0),
        (0, -1, 1800.0, 1, None),
        (60, 0, 1800.0, 1, None),
        (0, 0, 0.0, 0, None),
    ],
)
def test_the_used_share(minutes: int, megabytes: int, seconds: float, size: int, used: float | None) -> None:
    policy = {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}
    assert used_share(policy, seconds, size) == used


def test_the_use_of_retention_is_unknown_without_a_policy() -> None:
    assert used_share({}, 1800.0, 1) is None


def status(*used: float | None) -> TierStatus:
    partitions = [
        PartitionStatus(TopicPartition(TOPIC, index), EARLIEST, 2, 100, 60.0, (), share)
        for index, share in enumerate(used)
    ]
    return TierStatus(TOPIC, "t", "iceberg", partitions=tuple(partitions))


def test_half_of_retention_is_a_warning() -> None:
    assert status(None, 0.49).warning is None
    assert status(None).warning is None
    warning = status(0.1, 0.5).warning
    assert warning is not None
    assert warning.startswith(f"{TOPIC}: 50% of retention has passed for the first of 4 ledgers")


def test_a_topic_that_fails_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(topic_rounds, "tier_status", lambda *_: [status(0.9)])

    class Rounds:
        options = ReadOptions(service_url="pulsar://h:1", topic="t")

        def run(self, _: TopicName) -> None:
            raise OverflowError

    (outcome,) = topic_rounds.tier_topics(Rounds(), [TOPIC])  # type: ignore[arg-type]
    assert outcome.fault is not None
    assert outcome.retention_used == 0.9
    assert "90% of retention has passed" in caplog.text
    caplog.clear()
    monkeypatch.setattr(topic_rounds, "tier_status", lambda *_: 1 / 0)
    assert [outcome.topic for outcome in topic_rounds.tier_topics(Rounds(), [TOPIC])] == [TOPIC]  # type: ignore[arg-type]
    assert caplog.text == ""


@pytest.mark.parametrize("left_over", [True, False])
def test_only_a_topic_with_ledgers_left_over_is_looked_at(
    left_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TopicName] = []
    monkeypatch.setattr(
        topic_rounds, "tier_status", lambda _, topics: [asked.extend(topics), status(0.1)][1:]
    )

    class Rounds:
        options = ReadOptions(service_url="pulsar://h:1", topic="t")

        def run(self, topic: TopicName) -> RoundResult:
            return RoundResult(topic, "t", left_over=left_over)

    list(topic_rounds.tier_topics(Rounds(), [TOPIC]))  # type: ignore[arg-type]
    assert asked == ([TOPIC] if left_over else [])
