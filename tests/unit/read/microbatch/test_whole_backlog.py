"""The order of Spark 4.1's calls without the jar, and the answers to them."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.log_end import Positions
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.read.microbatch.whole_backlog import WholeBacklogReader

OPTIONS = {"service.url": "pulsar://localhost:6650", "topic": "t"}
FIRST: dict[str, Any] = {"version": 1, "positions": {"persistent://public/default/t": "1:0:0"}}
SECOND: dict[str, Any] = {"version": 1, "positions": {"persistent://public/default/t": "2:0:0"}}


@pytest.fixture
def subscribed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the successive positions of the query's subscription. The topic ends at `FIRST`, then at `SECOND`."""
    told: list[Any] = []
    ends = iter((FIRST, SECOND))

    def latest(self: PulsarStreamReader, start: dict[str, Any], _limit: Any) -> dict[str, Any]:
        self._begin(start, {}, start)  # type: ignore[arg-type]
        return next(ends)

    def begin(
        _self: PulsarStreamReader, committed: Positions, _ends: Positions, _counted_from: Positions
    ) -> dict[str, Any]:
        told.append(committed)
        return {}

    monkeypatch.setattr(PulsarStreamReader, "latestOffset", latest)
    monkeypatch.setattr(PulsarStreamReader, "partitions", lambda _self, _start, end: [end])
    monkeypatch.setattr(PulsarStreamReader, "_begin", begin)
    return told


def reader(**options: str) -> WholeBacklogReader:
    return WholeBacklogReader(parse_options(ReadOptions, OPTIONS | options), None)  # type: ignore[arg-type]


def test_a_query_begins_and_continues(subscribed: list[Any]) -> None:
    new = reader()
    initial = new.initialOffset()
    assert new.latestOffset() == FIRST
    assert subscribed == []
    assert new.partitions(initial, FIRST) == [FIRST]
    assert subscribed == [initial]
    assert new.latestOffset() == SECOND
    assert subscribed == [initial, FIRST]
    assert new.partitions(FIRST, SECOND) == [SECOND]


def test_a_restarted_query_continues_at_its_position(subscribed: list[Any]) -> None:
    again = reader()
    assert again.partitions(FIRST, FIRST) == []
    again.latestOffset()
    assert subscribed == [FIRST]


def test_a_restart_of_a_wrapped_source_is_refused_before_it_reads(subscribed: list[Any]) -> None:
    again = reader()
    again.latestOffset()
    with pytest.raises(
        OptionError, match=r"triggerAvailableNowWrapper\.enabled: expected false with Spark 4\.1"
    ):
        again.partitions(SECOND, SECOND)
    assert subscribed == []


def test_the_first_run_of_a_wrapped_source_is_refused(subscribed: list[Any]) -> None:
    new = reader()
    new.latestOffset()
    new.initialOffset()
    with pytest.raises(
        OptionError, match=r"triggerAvailableNowWrapper\.enabled: expected false with Spark 4\.1"
    ):
        new.latestOffset()
    assert subscribed == []


@pytest.mark.parametrize("limit", ["maxRecordsPerTrigger", "maxBytesPerTrigger", "minOffsetsPerTrigger"])
def test_a_limit_is_refused(limit: str) -> None:
    with pytest.raises(OptionError, match=rf"option '{limit}' is 5: expected no limit of a micro-batch"):
        reader(**{limit: "5"})
