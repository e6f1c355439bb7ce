"""The listener for the progress of streams, called with the events that Spark sends."""

from __future__ import annotations

import json
import logging
import sys
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3
from prometheus_client.parser import text_string_to_metric_families

from pyspark_pulsar.errors import OptionError, PrerequisiteMissing
from pyspark_pulsar.tools.monitoring.listener import PulsarProgressListener
from pyspark_pulsar.tools.monitoring.query_metrics import MOST_ENDED
from pyspark_pulsar.tools.monitoring.source_lag import Lag

A, B = "persistent://public/default/a", "persistent://public/default/b-partition-0"
B_TOPIC = "persistent://public/default/b"
QUERY, OTHER, RUN = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()


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


def progress(
    *latest_offsets: str | None,
    query: uuid.UUID = QUERY,
    run: uuid.UUID = RUN,
    batch: int = 3,
    name: str = "n",
    rows: int = 10,
    sink: tuple[str, int] = ("memory", -1),
    **metrics: str,
) -> Any:
    sources = [
        SimpleNamespace(latestOffset=each, numInputRows=rows, metrics=metrics) for each in latest_offsets
    ]
    told = SimpleNamespace(
        id=query,
        runId=run,
        name=name,
        batchId=batch,
        sources=sources,
        sink=SimpleNamespace(description=sink[0], numOutputRows=sink[1]),
    )
    return SimpleNamespace(progress=told)


def started(query: uuid.UUID = QUERY, run: uuid.UUID = RUN, name: str | None = "n") -> Any:
    return SimpleNamespace(id=query, runId=run, name=name)


def ended(query: uuid.UUID = QUERY, exception: str | None = None) -> Any:
    return SimpleNamespace(id=query, exception=exception)


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Return the metrics by name and labels, as `prometheus_client` reads them, without the query's labels."""
    further = ("source", "place", "topic")
    return {
        (
            sample.name.removeprefix("pyspark_pulsar_"),
            *(sample.labels[label] for label in further if label in sample.labels),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_progress_is_kept_by_query_and_source() -> None:
    listener = PulsarProgressListener()
    listener.onQueryProgress(progress('{"other": 1}', latest(a=(7, None, 2.5)), None, "no json"))
    listener.onQueryProgress(progress('{"other": 1}', latest(a=(7, None, 2.5)), batch=4))
    listener.onQueryProgress(progress(latest(), query=OTHER))
    first, second = listener.lags
    assert (first.query_id, first.query_name, first.source, first.batch_id) == (str(QUERY), "n", 1, 4)
    assert (first.rows, first.measured_ms, first.total) == (20, 1500, Lag(7, None, 2.5))
    assert first.partitions == {A: Lag(7, None, 2.5), B: Lag()}
    assert second.partitions == {A: Lag(), B: Lag()}


def test_an_idle_query_has_no_lag_and_an_ended_one_is_removed() -> None:
    listener = PulsarProgressListener()
    listener.onQueryProgress(progress(latest(a=(7, None, 2.5))))
    listener.onQueryProgress(progress(latest(a=(7, None, 2.5)), query=OTHER))
    listener.onQueryIdle(SimpleNamespace(id=QUERY))
    idle, busy = listener.lags
    assert abs(idle.measured_ms - time.time() * 1000) < 60_000
    assert (idle.total, idle.partitions) == (Lag(), {A: Lag(), B: Lag()})
    assert busy.total.messages == 7
    listener.onQueryTerminated(ended(OTHER))
    assert [each.query_id for each in listener.lags] == [str(QUERY)]


def test_prometheus_text(tmp_path: Path) -> None:
    file = tmp_path / "pulsar.prom"
    listener = PulsarProgressListener(file)
    listener.onQueryProgress(progress(latest(a=(7, None, 2.5)), name='say "hi"\\\n'))
    lines = file.read_text().splitlines()
    labels = f'query="say \\"hi\\"\\\\\\n",query_id="{QUERY}",source="0"'
    assert f'pyspark_pulsar_lag_messages{{{labels},topic="{A}"}} 7.0' in lines
    assert f'pyspark_pulsar_lag_messages{{{labels},topic="{B_TOPIC}"}} 0.0' in lines
    assert f'pyspark_pulsar_lag_seconds{{{labels},topic="{A}"}} 2.5' in lines
    assert f"pyspark_pulsar_lag_measured_timestamp_seconds{{{labels}}} 1.5" in lines
    assert f"pyspark_pulsar_rows_total{{{labels}}} 10.0" in lines
    assert not any("lag_bytes{" in line and A in line for line in lines), "what is not known is left out"
    for name in {line.split("{")[0] for line in lines if not line.startswith("#")}:
        assert any(line.startswith(f"# TYPE {name} ") for line in lines)
    assert [each.name for each in tmp_path.iterdir()] == ["pulsar.prom"]
    listener.onQueryTerminated(ended())
    assert "lag_messages{" not in file.read_text()


def test_counters_outlive_a_run_and_the_process(tmp_path: Path) -> None:
    """A job that cron starts has short runs, each in a process of its own."""
    file, before = tmp_path / "pulsar.prom", time.time()
    for number in range(2):
        listener = PulsarProgressListener(file)
        run = uuid.uuid4()
        listener.onQueryStarted(started(run=run))
        told = {"readFrom": "bookie 3, broker 1", "readBytes.bookie": "500", "fallbacks.broker": "1"}
        listener.onQueryProgress(progress(latest(), run=run, batch=2 * number, **told))
        # The tasks' counts are from the run so far; a repeated progress report counts once.
        told |= {"readFrom": "broker 1", "readBytes.bookie": "700", "readEntries.bookie": "9"}
        for _ in range(2):
            listener.onQueryProgress(progress(latest(), run=run, batch=2 * number + 1, **told))
        listener.onQueryTerminated(ended())
    got = samples(file.read_text())
    assert got["last_success_timestamp_seconds",] >= before
    assert got["epochs_committed_total",] == 4
    assert got["rows_total", "0"] == 40
    assert got["read_ranges_total", "0", "bookie"] == 6
    assert got["read_ranges_total", "0", "broker"] == 4
    assert got["read_bytes_total", "0", "bookie"] == 1400
    assert got["read_entries_total", "0", "bookie"] == 18
    assert got["fallbacks_total", "0", "broker"] == 2
    assert got["query_active",] == 0
    assert ("last_failure_timestamp_seconds",) not in got
    listener.onQueryStarted(started(run=uuid.uuid4()))
    assert samples(file.read_text())["query_active",] == 1
    listener.onQueryTerminated(ended(exception="no rows"))
    got = samples(file.read_text())
    assert (got["epochs_aborted_total",], got["query_active",]) == (1, 0)
    assert got["last_failure_timestamp_seconds",] >= got["last_success_timestamp_seconds",]


def test_a_damaged_file_is_no_fault(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "pulsar.prom"
    file.write_text("pyspark_pulsar_rows_total{query=")
    listener = PulsarProgressListener(file)
    listener.onQueryProgress(progress(latest()))
    assert samples(file.read_text())["rows_total", "0"] == 10
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_queries_that_have_ended_are_forgotten_in_the_end(tmp_path: Path) -> None:
    listener = PulsarProgressListener(tmp_path / "pulsar.prom")
    for _ in range(MOST_ENDED + 20):
        query = uuid.uuid4()
        listener.onQueryProgress(progress(latest(), query=query))
        listener.onQueryTerminated(ended(query))
    families = {family.name: family.samples for family in listener.collect()}
    for name in ("query_active", "rows", "epochs_committed", "last_success_timestamp_seconds"):
        assert len(families[f"pyspark_pulsar_{name}"]) == MOST_ENDED


def test_queries_without_pulsar_are_not_followed() -> None:
    listener = PulsarProgressListener()
    for number, query in enumerate((QUERY, OTHER)):
        listener.onQueryStarted(started(query))
        sink = ("PulsarTable", 5) if number else ("ConsoleTable", 5)
        listener.onQueryProgress(progress('{"other": 1}', query=query, sink=sink))
        listener.onQueryTerminated(ended(query))
    values = {family.name: [s.value for s in family.samples] for family in listener.collect()}
    assert values["pyspark_pulsar_epochs_committed"] == [1]
    assert values["pyspark_pulsar_written_rows"] == [5]
    assert values["pyspark_pulsar_rows"] == []


def test_thousands_of_topics_are_few_series() -> None:
    names = [
        f"persistent://public/n{each % 3}/t{each}-partition-{part}" for each in range(3000) for part in (0, 1)
    ]
    document = {
        "positions": dict.fromkeys(names, "1:2:0"),
        "lag": {
            "measuredAt": 1500, "messages": 9, "bytes": None, "seconds": 2.5,
            "partitions": {names[0]: {"messages": 9, "bytes": None, "seconds": 2.5}},
        },
    }  # fmt: skip
    expected = {100: 3, 2: 1, 3000: 3000, 6000: 3000}
    for most, count in expected.items():
        listener = PulsarProgressListener(most_series=most)
        listener.onQueryProgress(progress(json.dumps(document)))
        (messages,) = [each for each in listener.collect() if each.name == "pyspark_pulsar_lag_messages"]
        assert len(messages.samples) == count
        assert sum(sample.value for sample in messages.samples) == 9
    listener = PulsarProgressListener(most_series=6000, by_partition=True)
    listener.onQueryProgress(progress(json.dumps(document)))
    (seconds,) = [each for each in listener.collect() if each.name == "pyspark_pulsar_lag_seconds"]
    assert len(seconds.samples) == 6000
    assert {s.labels["topic"]: s.value for s in seconds.samples if s.value} == {names[0]: 2.5}


def test_prometheus_is_answered_until_the_listener_is_closed() -> None:
    listener = PulsarProgressListener(prometheus_address="127.0.0.1:0")
    listener.onQueryProgress(progress(latest(a=(7, None, 2.5))))
    assert listener.address is not None
    with pytest.raises(OptionError, match=f"prometheus_address: .*free port, got {listener.address}"):
        PulsarProgressListener(prometheus_address=listener.address)
    answer = urllib3.request("GET", f"http://{listener.address}/metrics")
    assert samples(answer.data.decode())["lag_messages", "0", A] == 7
    listener.close()
    with pytest.raises(urllib3.exceptions.HTTPError):
        urllib3.request("GET", f"http://{listener.address}/metrics", retries=False)


@pytest.mark.parametrize("address", ["9464", "localhost", ":9464", "localhost:http", ""])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(OptionError, match="prometheus_address: expected host:port"):
        PulsarProgressListener(prometheus_address=address)


def test_without_the_extra_only_the_lags_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    listener = PulsarProgressListener()
    listener.onQueryProgress(progress(latest()))
    assert len(listener.lags) == 1
    for arguments in ({"prometheus_file": tmp_path / "a.prom"}, {"prometheus_address": "127.0.0.1:0"}):
        with pytest.raises(PrerequisiteMissing, match=r"pyspark-pulsar\[metrics\]"):
            PulsarProgressListener(**arguments)


def test_a_file_that_cannot_be_written_fails_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listener = PulsarProgressListener(tmp_path / "missing" / "pulsar.prom")
    for _ in range(2):
        listener.onQueryProgress(progress(latest()))
    assert len(listener.lags) == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
