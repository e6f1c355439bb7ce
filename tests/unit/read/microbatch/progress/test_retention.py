"""The lag at which Pulsar may delete messages that a stream has not read."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.read.microbatch.progress.lag import Lag, LagReport
from pyspark_pulsar.read.microbatch.progress.retention import Horizon, RetentionWatch, horizon_of

A, B = TopicPartition.parse("t/one/a"), TopicPartition.parse("t/one/b")
ELSEWHERE = TopicPartition.parse("t/two/a")


def retention(minutes: int, megabytes: int) -> dict[str, int]:
    return {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}


@pytest.mark.parametrize(
    ("policy", "ttl", "is_held", "expected"),
    [
        (None, None, False, Horizon(0.0, 0)),
        (retention(0, 0), None, False, Horizon(0.0, 0)),
        (retention(60, 0), None, False, Horizon(0.0, 0)),
        (retention(-1, -1), None, False, Horizon()),
        (retention(60, -1), None, False, Horizon(3600.0, None)),
        (retention(-1, 2), None, False, Horizon(None, 2 << 20)),
        (retention(60, 2), 30, False, Horizon(3600.0, 2 << 20)),
        (None, None, True, Horizon()),
        (retention(0, 0), 0, True, Horizon()),
        (retention(0, 0), 30, True, Horizon(30.0)),
        (retention(2, 0), 30, True, Horizon(150.0)),
        (retention(-1, -1), 30, True, Horizon()),
    ],
)
def test_the_limit_follows_from_retention_and_ttl(
    policy: Any, ttl: Any, is_held: bool, expected: Horizon
) -> None:
    assert horizon_of(policy, ttl, is_held=is_held) == expected


class Policies:
    """A substitute for the admin client and its `policies`."""

    def __init__(self, answer: Any) -> None:
        self.policies = self
        self.answer = answer
        self.asked: list[tuple[TopicName, str]] = []

    def applied(self, topic: TopicName, name: str) -> Any:
        self.asked.append((topic, name))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if name == "retention" else None


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_namespace_that_retains_nothing_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    policies = Policies(retention(0, 0))
    watch = RetentionWatch(policies, is_held=False)  # type: ignore[arg-type]
    for _ in range(2):
        watch.look_up([A, B])
        watch.warn(LagReport(0, {A: Lag(10, 10, 10.0)}))
    (text,) = warnings(caplog)
    assert "t/one" in text
    assert "subscriptionName" in text
    assert len(policies.asked) == 2
    watch.look_up([A, B, ELSEWHERE])
    watch.warn(LagReport(0, {}))
    assert "t/two" in warnings(caplog)[1]


def test_a_lag_of_half_the_limit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    watch = RetentionWatch(Policies(retention(1, -1)), is_held=False)  # type: ignore[arg-type]
    for seconds in (29.0, 31.0, 40.0, 5.0, None, 35.0):
        watch.look_up([A, B])
        watch.warn(LagReport(0, {A: Lag(10, 10, seconds)}))
    assert len(warnings(caplog)) == 2
    assert (
        "lags by 31 s or 10 bytes, and messages can be deleted unread at a lag of more than 60 s: "
        in warnings(caplog)[0]
    )


def test_a_missing_permission_stops_the_lookups_silently(caplog: pytest.LogCaptureFixture) -> None:
    policies = Policies(PermissionDenied("no"))
    watch = RetentionWatch(policies, is_held=False)  # type: ignore[arg-type]
    watch.look_up([A, ELSEWHERE])
    watch.warn(LagReport(0, {A: Lag(10, 10, 1e9)}))
    assert not warnings(caplog)
    assert len(policies.asked) == 1
