"""The listener for the progress of streams, given the events that Spark gives."""

from __future__ import annotations

import json
import logging
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_pulsar.monitoring.listener import Behind, PulsarProgressListener

A, B = "persistent://public/default/a", "persistent://public/default/b-partition-0"
QUERY, OTHER = uuid.uuid4(), uuid.uuid4()


def latest(**lags: tuple[int | None, int | None, float | None]) -> str:
    names = {"a": A, "b": B}
    partitions = {
        names[name]: dict(zip(("messages", "bytes", "seconds"), lag, strict=True))
        for name, lag in lags.items()
    }
    total = {"messages": 7, "bytes": None, "seconds": 2.5}
    positions = dict.fromkeys((A, B), "1:2:0")
    return json.dumps(
        {"version": 1, "positions": positions, "lag": {"measuredAt": 1500, **total, "partitions": partitions}}
    )


def progress(*latest_offsets: str | None, query: uuid.UUID = QUERY, batch: int = 3, name: str = "n") -> Any:
    sources = [SimpleNamespace(latestOffset=each, numInputRows=10) for each in latest_offsets]
    return SimpleNamespace(progress=SimpleNamespace(id=query, name=name, batchId=batch, sources=sources))


def test_what_is_told_is_kept_by_query_and_source() -> None:
    listener = PulsarProgressListener()
    listener.onQueryProgress(progress('{"other": 1}', latest(a=(7, None, 2.5)), None, "no json"))
    listener.onQueryProgress(progress('{"other": 1}', latest(a=(7, None, 2.5)), batch=4))
    listener.onQueryProgress(progress(latest(), query=OTHER))
    first, second = listener.lags
    assert (first.query_id, first.query_name, first.source, first.batch_id) == (str(QUERY), "n", 1, 4)
    assert (first.rows, first.measured_ms, first.total) == (20, 1500, Behind(7, None, 2.5))
    assert first.partitions == {A: Behind(7, None, 2.5), B: Behind()}
    assert second.partitions == {A: Behind(), B: Behind()}


def test_an_idle_query_is_not_behind_and_one_that_ended_is_gone() -> None:
    listener = PulsarProgressListener()
    listener.onQueryProgress(progress(latest(a=(7, None, 2.5))))
    listener.onQueryProgress(progress(latest(a=(7, None, 2.5)), query=OTHER))
    listener.onQueryIdle(SimpleNamespace(id=QUERY))
    idle, busy = listener.lags
    assert abs(idle.measured_ms - time.time() * 1000) < 60_000
    assert (idle.total, idle.partitions) == (Behind(), {A: Behind(), B: Behind()})
    assert busy.total.messages == 7
    listener.onQueryTerminated(SimpleNamespace(id=OTHER))
    assert [each.query_id for each in listener.lags] == [str(QUERY)]


def test_prometheus_text(tmp_path: Path) -> None:
    file = tmp_path / "pulsar.prom"
    listener = PulsarProgressListener(file)
    listener.onQueryProgress(progress(latest(a=(7, None, 2.5)), name='say "hi"\\\n'))
    lines = file.read_text().splitlines()
    labels = f'query="say \\"hi\\"\\\\\\n",query_id="{QUERY}",source="0"'
    assert f'pyspark_pulsar_lag_messages{{{labels},topic_partition="{A}"}} 7' in lines
    assert f'pyspark_pulsar_lag_messages{{{labels},topic_partition="{B}"}} 0' in lines
    assert f'pyspark_pulsar_lag_seconds{{{labels},topic_partition="{A}"}} 2.5' in lines
    assert f"pyspark_pulsar_lag_measured_timestamp_seconds{{{labels}}} 1.5" in lines
    assert f"pyspark_pulsar_rows_total{{{labels}}} 10" in lines
    assert not any("lag_bytes{" in line and A in line for line in lines), "what is not known is left out"
    for name in {line.split("{")[0] for line in lines if not line.startswith("#")}:
        assert any(line.startswith(f"# TYPE {name} ") for line in lines)
    assert [each.name for each in tmp_path.iterdir()] == ["pulsar.prom"]
    listener.onQueryTerminated(SimpleNamespace(id=QUERY))
    assert str(QUERY) not in file.read_text()


def test_a_file_that_cannot_be_written_fails_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listener = PulsarProgressListener(tmp_path / "missing" / "pulsar.prom")
    for _ in range(2):
        listener.onQueryProgress(progress(latest()))
    assert len(listener.lags) == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
