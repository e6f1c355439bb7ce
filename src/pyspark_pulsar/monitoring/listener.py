"""How far the streams of a Spark session are behind: for the user's program, and for Prometheus.

Runs in the process of the user's program. What a stream measures travels in the JSON text `sources[].latestOffset` of
its progress (`read.microbatch.progress.lag`).
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

_PREFIX: Final = "pyspark_pulsar_"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Behind:
    """What has not been committed; None is not known."""

    messages: int | None = 0
    """About."""
    bytes: int | None = 0
    """About; as stored."""
    seconds: float | None = 0.0
    """The age of the oldest message."""


@dataclass(frozen=True, slots=True)
class SourceLag:
    """How far one source of a query was behind when its last micro-batch was planned; nothing while it is idle."""

    query_id: str
    query_name: str | None
    source: int
    """Counts the sources of the query from 0, in Spark's order."""
    batch_id: int
    rows: int
    """Read since the listener was added, or the query was started if that is later."""
    measured_ms: int
    """Unix milliseconds."""
    total: Behind
    partitions: Mapping[str, Behind] = field(default_factory=dict)
    """Every topic partition that the source reads, by its full name."""


class PulsarProgressListener(StreamingQueryListener):
    """Add it with `spark.streams.addListener`; it follows all queries that read with `format("pulsar")`.

    `prometheus_file` is rewritten at each progress, atomically, in Prometheus' text format; for the textfile collector
    of its node exporter its name has to end in `.prom`. The folder must exist.
    """

    def __init__(self, prometheus_file: str | os.PathLike[str] | None = None) -> None:
        self._file = None if prometheus_file is None else Path(prometheus_file)
        self._lock = threading.Lock()
        self._lags: dict[tuple[str, int], SourceLag] = {}
        self._could_write = True

    @property
    def lags(self) -> list[SourceLag]:
        """Of the queries that run, as they last told."""
        with self._lock:
            return list(self._lags.values())

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        progress = event.progress
        with self._lock:
            for number, source in enumerate(progress.sources):
                document = _lag_document(source.latestOffset)
                if document is None:
                    continue
                key = (str(progress.id), number)
                before = self._lags[key].rows if key in self._lags else 0
                self._lags[key] = source_lag(
                    document,
                    SourceLag(
                        key[0],
                        progress.name,
                        number,
                        progress.batchId,
                        before + source.numInputRows,
                        0,
                        Behind(),
                    ),
                )
            self._write()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Spark found nothing new at a trigger: the query is not behind."""
        now_ms = int(time.time() * 1000)
        with self._lock:
            for key, lag in self._lags.items():
                if key[0] == str(event.id):
                    idle = dict.fromkeys(lag.partitions, Behind())
                    self._lags[key] = replace(lag, measured_ms=now_ms, total=Behind(), partitions=idle)
            self._write()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        with self._lock:
            self._lags = {key: lag for key, lag in self._lags.items() if key[0] != str(event.id)}
            self._write()

    def _write(self) -> None:
        """A listener must not fail for a full disk."""
        if self._file is None:
            return
        beside = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        try:
            beside.write_text(prometheus_text(self._lags.values()), encoding="utf-8")
            beside.replace(self._file)
            self._could_write = True
        except OSError as fault:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            if self._could_write:
                self._could_write = False
                _log.warning("the metrics cannot be written to %s: %s", self._file, fault)


def source_lag(document: Mapping[str, Any], known: SourceLag) -> SourceLag:
    """`known` with what the JSON object of a stream's latest offset says of its lag."""
    lag = document["lag"]
    named = {name: _behind(behind) for name, behind in lag["partitions"].items()}
    partitions = {name: named.get(name, Behind()) for name in sorted({*document["positions"], *named})}
    return replace(known, measured_ms=int(lag["measuredAt"]), total=_behind(lag), partitions=partitions)


def _lag_document(text: str | None) -> dict[str, Any] | None:
    """None where the source is not ours."""
    try:
        document = json.loads(text or "null")
    except ValueError:
        return None
    is_ours = isinstance(document, dict) and "positions" in document and "lag" in document
    return document if is_ours else None


def _behind(document: Mapping[str, Any]) -> Behind:
    return Behind(document["messages"], document["bytes"], document["seconds"])


_GAUGES: Final = {
    "lag_messages": "Messages that the query has not committed, about.",
    "lag_bytes": "Stored bytes that the query has not committed, about.",
    "lag_seconds": "Age of the oldest message that the query has not committed.",
}


def prometheus_text(lags: Any) -> str:
    """The `SourceLag`s in Prometheus' text format; what is not known is left out."""
    sources = list(lags)
    lines: list[str] = []
    for name, what in _GAUGES.items():
        lines += _head(name, "gauge", what)
        for lag in sources:
            for partition, behind in lag.partitions.items():
                value = getattr(behind, name.removeprefix("lag_"))
                lines += _sample(name, lag, value, topic_partition=partition)
    lines += _head("lag_measured_timestamp_seconds", "gauge", "When the query was last found behind, or not.")
    for lag in sources:
        lines += _sample("lag_measured_timestamp_seconds", lag, lag.measured_ms / 1000)
    lines += _head("batch_id", "gauge", "The last micro-batch that made progress.")
    for lag in sources:
        lines += _sample("batch_id", lag, lag.batch_id)
    lines += _head("rows_total", "counter", "Rows read.")
    for lag in sources:
        lines += _sample("rows_total", lag, lag.rows)
    return "\n".join([*lines, ""])


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {_PREFIX}{name} {what}"
    yield f"# TYPE {_PREFIX}{name} {kind}"


def _sample(name: str, lag: SourceLag, value: float | None, **further: str) -> Iterator[str]:
    if value is None:
        return
    labels = {"query": lag.query_name or "", "query_id": lag.query_id, "source": str(lag.source), **further}
    text = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
    yield f"{_PREFIX}{name}{{{text}}} {value}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
