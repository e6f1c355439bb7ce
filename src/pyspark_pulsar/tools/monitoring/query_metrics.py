"""What is counted of the streaming queries of a session, as metrics that any monitoring system can take. Pure.

Counters and times of success outlive a query, so that a run that ends soon leaves its numbers behind; of the queries
that have ended, the last hundred are kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from pyspark_pulsar.tools.monitoring.lag_series import lag_series
from pyspark_pulsar.tools.monitoring.source_lag import SourceLag

Kind = Literal["counter", "gauge"]
Labels = tuple[str, ...]

QUERY: Final = ("query", "query_id")
SOURCE: Final = (*QUERY, "source")
PLACE: Final = (*SOURCE, "place")
TOPIC: Final = (*SOURCE, "topic")

PREFIX: Final = "pyspark_pulsar_"
MOST_ENDED: Final = 100
_PLACES: Final = re.compile(r"([a-z]+) (\d+)")
# What a task counts, as it stands in `sources[].metrics` of the progress before a dot and the place.
_TASK_COUNTS: Final = {"readBytes": "read_bytes", "readEntries": "read_entries", "fallbacks": "fallbacks"}


@dataclass(frozen=True, slots=True)
class Metric:
    """One name, with its series."""

    name: str
    """Without prefix, and of a counter without `_total`."""
    kind: Kind
    text: str
    labels: Labels
    values: dict[Labels, float] = field(default_factory=dict)
    """By the values of the labels."""

    def copy(self) -> Metric:
        """As it is now."""
        return replace(self, values=dict(self.values))


def _kept() -> dict[str, Metric]:
    metrics = (
        Metric("epochs_committed", "counter", "Micro-batches that were committed.", QUERY),
        Metric("epochs_aborted", "counter", "Runs that failed, and with them their last micro-batch.", QUERY),
        Metric("written_rows", "counter", "Rows written by a sink that counts them.", QUERY),
        Metric("last_success_timestamp_seconds", "gauge", "When a run last ended without a fault.", QUERY),
        Metric("last_failure_timestamp_seconds", "gauge", "When a run last failed.", QUERY),
        Metric("rows", "counter", "Rows read.", SOURCE),
        Metric(
            "read_ranges", "counter", "Ranges of ledgers that were planned to be read from a place.", PLACE
        ),
        Metric("read_entries", "counter", "Entries that came from a place.", PLACE),
        Metric("read_bytes", "counter", "Bytes of entries, as stored, that came from a place.", PLACE),
        Metric("fallbacks", "counter", "Ranges that a place gave since another had failed.", PLACE),
    )
    return {metric.name: metric for metric in metrics}


@dataclass(slots=True)
class _QueryRun:
    """One run of a query, from its start to its end."""

    labels: Labels
    run_id: str
    batch_id: int | None = None
    told: dict[tuple[int, str], int] = field(default_factory=dict)
    """What its sources have counted since it was started, by number of the source and name."""


class QueryMetrics:
    """Used under the lock of whoever holds it."""

    def __init__(
        self, most_series: int = 100, *, by_partition: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        """`most_series`, `by_partition`: see `lag_series`. `clock`: Unix seconds."""
        self._most_series, self._by_partition = most_series, by_partition
        self._clock = clock
        self._running: dict[str, _QueryRun] = {}
        self._ended: dict[str, Labels] = {}
        self._kept = _kept()

    # What Spark tells

    def start(self, query_id: str, name: str | None, run_id: str) -> None:
        self._run(query_id, name, run_id)

    def progress(self, progress: Any, ours: Iterable[int]) -> None:
        """Of a micro-batch that is committed; `ours`: the numbers of its sources that read from Pulsar. A query that
        neither reads from Pulsar nor writes to it is not followed."""
        query_id, numbers = str(progress.id), list(ours)
        sink = getattr(progress, "sink", None)
        if not numbers and "pulsar" not in str(getattr(sink, "description", "")).lower():
            self._running.pop(query_id, None)
            self._forget(query_id)
            return
        run = self._run(query_id, progress.name, str(getattr(progress, "runId", "")))
        if run.batch_id is not None and progress.batchId <= run.batch_id:
            return
        run.batch_id = progress.batchId
        self._add("epochs_committed", run.labels, 1)
        written = getattr(sink, "numOutputRows", -1)
        if written >= 0:
            self._add("written_rows", run.labels, written)
        for number in numbers:
            self._take(run, number, progress.sources[number])

    def end(self, query_id: str, *, failed: bool) -> None:
        """A run has ended by itself, was stopped, or has failed."""
        run = self._running.pop(query_id, None)
        if run is None:
            return
        if failed:
            self._add("epochs_aborted", run.labels, 1)
        name = "last_failure_timestamp_seconds" if failed else "last_success_timestamp_seconds"
        self._kept[name].values[run.labels] = self._clock()
        self._has_ended(run.labels)

    def restore(self, samples: Iterable[tuple[str, Mapping[str, str], float]]) -> None:
        """What another process has told last: names without prefix, labels, values."""
        for name, labels, value in samples:
            metric = self._kept.get(name)
            if metric is not None and set(metric.labels) == set(labels):
                metric.values[tuple(labels[label] for label in metric.labels)] = value
                self._has_ended((labels["query"], labels["query_id"]))

    # What is told

    def metrics(self, lags: Iterable[SourceLag]) -> Iterator[Metric]:
        """All, those without a series among them; what is not known is left out."""
        sources = list(lags)
        yield from self._lag(sources)
        running = {run.labels: 1.0 for run in self._running.values()}
        active = dict.fromkeys(self._ended.values(), 0.0) | running
        yield Metric("query_active", "gauge", "1 while the query runs, 0 when it has ended.", QUERY, active)
        batches = {
            run.labels: float(run.batch_id) for run in self._running.values() if run.batch_id is not None
        }
        yield Metric("batch_id", "gauge", "The last micro-batch that made progress.", QUERY, batches)
        yield from self._kept.values()

    def _lag(self, sources: list[SourceLag]) -> Iterator[Metric]:
        messages = Metric("lag_messages", "gauge", "Messages that the query has not committed, about.", TOPIC)
        size = Metric("lag_bytes", "gauge", "Stored bytes that the query has not committed, about.", TOPIC)
        seconds = Metric(
            "lag_seconds", "gauge", "Age of the oldest message that the query has not committed.", TOPIC
        )
        measured = Metric(
            "lag_measured_timestamp_seconds", "gauge", "When the query was last found behind, or not.", SOURCE
        )
        for lag in sources:
            labels = (lag.query_name or "", lag.query_id, str(lag.source))
            measured.values[labels] = lag.measured_ms / 1000
            series = lag_series(lag.partitions, lag.total, self._most_series, by_partition=self._by_partition)
            for topic, behind in series.items():
                parts = (behind.messages, behind.bytes, behind.seconds)
                for metric, value in zip((messages, size, seconds), parts, strict=True):
                    if value is not None:
                        metric.values[*labels, topic] = value
        return iter((messages, size, seconds, measured))

    def _run(self, query_id: str, name: str | None, run_id: str) -> _QueryRun:
        known = self._running.get(query_id)
        if known is None or known.run_id != run_id:
            known = self._running[query_id] = _QueryRun((name or "", query_id), run_id)
            self._ended.pop(query_id, None)
            # From 0 on, as what a series begins with is no increase to Prometheus.
            for counter in ("epochs_committed", "epochs_aborted"):
                self._add(counter, known.labels, 0)
        return known

    def _take(self, run: _QueryRun, number: int, source: Any) -> None:
        labels = (*run.labels, str(number))
        rows = int(source.numInputRows)
        self._add("rows", labels, rows)
        self._add("fallbacks", (*labels, "broker"), 0)
        told = getattr(source, "metrics", None) or {}
        if rows:
            # Else it is of an earlier micro-batch.
            for place, count in _PLACES.findall(str(told.get("readFrom", ""))):
                self._add("read_ranges", (*labels, place), int(count))
        for key, text in told.items():
            name, _, place = key.partition(".")
            if name in _TASK_COUNTS and place:
                value, before = int(text), run.told.get((number, key), 0)
                run.told[number, key] = value
                self._add(_TASK_COUNTS[name], (*labels, place), value - before if value >= before else value)

    def _add(self, name: str, labels: Labels, amount: float) -> None:
        values = self._kept[name].values
        values[labels] = values.get(labels, 0.0) + amount

    def _has_ended(self, labels: Labels) -> None:
        query_id = labels[1]
        self._ended.pop(query_id, None)
        self._ended[query_id] = labels
        for old in list(self._ended)[:-MOST_ENDED]:
            self._forget(old)

    def _forget(self, query_id: str) -> None:
        self._ended.pop(query_id, None)
        for metric in self._kept.values():
            for series in [each for each in metric.values if each[1] == query_id]:
                del metric.values[series]
