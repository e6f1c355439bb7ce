"""Counters and gauges for the streaming queries of a session, for any monitoring system. This module does no I/O.

Counters, and the times of success and failure, stay available after a query has ended. So the numbers of a short run
are not lost. These values are stored for the last 100 queries that have ended.
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
# Each name of a count in `sources[].metrics` of the progress maps to the name of a metric. In the progress, a dot and
# the location follow the name.
_TASK_COUNTS: Final = {"readBytes": "read_bytes", "readEntries": "read_entries", "fallbacks": "fallbacks"}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric and its series.

    Attributes:
        name: The name without prefix, and without the `_total` of a counter.
        values: The value of each series, by the values of its labels.

    """

    name: str
    kind: Kind
    text: str
    labels: Labels
    values: dict[Labels, float] = field(default_factory=dict)

    def copy(self) -> Metric:
        """Return a copy that does not change when this metric changes."""
        return replace(self, values=dict(self.values))


def _new_kept_metrics() -> dict[str, Metric]:
    metrics = (
        Metric("epochs_committed", "counter", "Micro-batches that were committed.", QUERY),
        Metric("epochs_aborted", "counter", "Failed runs. The last micro-batch of each was aborted.", QUERY),
        Metric("written_rows", "counter", "Rows written by a sink that counts them.", QUERY),
        Metric("last_success_timestamp_seconds", "gauge", "When a run last ended without an error.", QUERY),
        Metric("last_failure_timestamp_seconds", "gauge", "When a run last failed.", QUERY),
        Metric("rows", "counter", "Rows read.", SOURCE),
        Metric(
            "read_ranges", "counter", "Ranges of ledgers that were planned to be read from a location.", PLACE
        ),
        Metric("read_entries", "counter", "Entries read from a location.", PLACE),
        Metric("read_bytes", "counter", "Stored bytes of the entries read from a location.", PLACE),
        Metric("fallbacks", "counter", "Ranges read from a location after another location failed.", PLACE),
    )
    return {metric.name: metric for metric in metrics}


@dataclass(slots=True)
class _QueryRun:
    """A single run of a query, from its start to its end.

    Attributes:
        counts: The last value of each count that the sources have reported in this run. The key is the number of the
            source and the name of the count.

    """

    labels: Labels
    run_id: str
    batch_id: int | None = None
    counts: dict[tuple[int, str], int] = field(default_factory=dict)


class QueryMetrics:
    """The metrics of a session's queries. The class is not thread-safe, so callers need a lock."""

    def __init__(
        self, most_series: int = 100, *, by_partition: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        """Start without queries.

        Args:
            most_series: See `lag_series`.
            by_partition: See `lag_series`.
            clock: A function that returns the time in Unix seconds.

        """
        self._most_series, self._by_partition = most_series, by_partition
        self._clock = clock
        self._running: dict[str, _QueryRun] = {}
        self._ended: dict[str, Labels] = {}
        self._kept_metrics = _new_kept_metrics()

    # Events of Spark

    def start(self, query_id: str, name: str | None, run_id: str) -> None:
        """Register a run of a query."""
        self._run(query_id, name, run_id)

    def progress(self, progress: Any, ours: Iterable[int]) -> None:
        """Count a committed micro-batch of a query that reads from Pulsar or writes to Pulsar.

        If the query neither reads from Pulsar nor writes to Pulsar, its metrics are removed.

        Args:
            progress: Spark's progress.
            ours: The numbers of the sources that read from Pulsar.

        """
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
            self._count_source(run, number, progress.sources[number])

    def end(self, query_id: str, *, failed: bool) -> None:
        """Count the end of a run. The run ended by itself, was stopped, or failed."""
        run = self._running.pop(query_id, None)
        if run is None:
            return
        if failed:
            self._add("epochs_aborted", run.labels, 1)
        name = "last_failure_timestamp_seconds" if failed else "last_success_timestamp_seconds"
        self._kept_metrics[name].values[run.labels] = self._clock()
        self._keep_ended(run.labels)

    def restore(self, samples: Iterable[tuple[str, Mapping[str, str], float]]) -> None:
        """Restore the counters of a previous process.

        Args:
            samples: The name without prefix, the labels and the value of each metric.

        """
        for name, labels, value in samples:
            metric = self._kept_metrics.get(name)
            if metric is not None and set(metric.labels) == set(labels):
                metric.values[tuple(labels[label] for label in metric.labels)] = value
                self._keep_ended((labels["query"], labels["query_id"]))

    # Results

    def metrics(self, lags: Iterable[SourceLag]) -> Iterator[Metric]:
        """Yield all metrics, including metrics without a series. Unknown values are omitted."""
        sources = list(lags)
        yield from self._lag(sources)
        running = {run.labels: 1.0 for run in self._running.values()}
        active = dict.fromkeys(self._ended.values(), 0.0) | running
        yield Metric("query_active", "gauge", "1 while the query runs, 0 when it has ended.", QUERY, active)
        batches = {
            run.labels: float(run.batch_id) for run in self._running.values() if run.batch_id is not None
        }
        yield Metric("batch_id", "gauge", "The last micro-batch that made progress.", QUERY, batches)
        yield from self._kept_metrics.values()

    def _lag(self, sources: list[SourceLag]) -> Iterator[Metric]:
        messages = Metric(
            "lag_messages", "gauge", "Messages that the query has not committed, estimated.", TOPIC
        )
        size = Metric(
            "lag_bytes", "gauge", "Stored bytes that the query has not committed, estimated.", TOPIC
        )
        seconds = Metric(
            "lag_seconds", "gauge", "Age of the oldest message that the query has not committed.", TOPIC
        )
        measured = Metric(
            "lag_measured_timestamp_seconds", "gauge", "When the lag of the query was last measured.", SOURCE
        )
        for lag in sources:
            labels = (lag.query_name or "", lag.query_id, str(lag.source))
            measured.values[labels] = lag.measured_ms / 1000
            series = lag_series(lag.partitions, lag.total, self._most_series, by_partition=self._by_partition)
            for topic, part in series.items():
                parts = (part.messages, part.bytes, part.seconds)
                for metric, value in zip((messages, size, seconds), parts, strict=True):
                    if value is not None:
                        metric.values[*labels, topic] = value
        return iter((messages, size, seconds, measured))

    def _run(self, query_id: str, name: str | None, run_id: str) -> _QueryRun:
        known = self._running.get(query_id)
        if known is None or known.run_id != run_id:
            known = self._running[query_id] = _QueryRun((name or "", query_id), run_id)
            self._ended.pop(query_id, None)
            # Counters begin at 0, because Prometheus sees no increase in the first value of a series.
            for counter in ("epochs_committed", "epochs_aborted"):
                self._add(counter, known.labels, 0)
        return known

    def _count_source(self, run: _QueryRun, number: int, source: Any) -> None:
        labels = (*run.labels, str(number))
        rows = int(source.numInputRows)
        self._add("rows", labels, rows)
        self._add("fallbacks", (*labels, "broker"), 0)
        reported = getattr(source, "metrics", None) or {}
        if rows:
            # If the micro-batch has read no rows, `readFrom` is from an earlier micro-batch.
            for place, count in _PLACES.findall(str(reported.get("readFrom", ""))):
                self._add("read_ranges", (*labels, place), int(count))
        for key, text in reported.items():
            name, _, place = key.partition(".")
            if name in _TASK_COUNTS and place:
                value, before = int(text), run.counts.get((number, key), 0)
                run.counts[number, key] = value
                self._add(_TASK_COUNTS[name], (*labels, place), value - before if value >= before else value)

    def _add(self, name: str, labels: Labels, amount: float) -> None:
        values = self._kept_metrics[name].values
        values[labels] = values.get(labels, 0.0) + amount

    def _keep_ended(self, labels: Labels) -> None:
        query_id = labels[1]
        self._ended.pop(query_id, None)
        self._ended[query_id] = labels
        for old in list(self._ended)[:-MOST_ENDED]:
            self._forget(old)

    def _forget(self, query_id: str) -> None:
        self._ended.pop(query_id, None)
        for metric in self._kept_metrics.values():
            for series in [each for each in metric.values if each[1] == query_id]:
                del metric.values[series]
