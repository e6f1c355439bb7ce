"""How far the streams of a Spark session are behind, and what they have done: for users, and for Prometheus.

Runs in the process of the user's program.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from pyspark_pulsar.tools.monitoring.exposition import Exposition, read_samples
from pyspark_pulsar.tools.monitoring.query_metrics import Metric, QueryMetrics
from pyspark_pulsar.tools.monitoring.source_lag import NOT_BEHIND, SourceLag, lag_document, source_lag

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class PulsarProgressListener(StreamingQueryListener):
    """Add it with `spark.streams.addListener`; it follows all queries that read or write with `format("pulsar")`.

    `prometheus_file` is rewritten at each event, atomically, in Prometheus' text format; for the textfile collector of
    its node exporter its name has to end in `.prom`. The folder must exist. Counters in it go on where the process
    before has left them, so one file is for one program at a time.

    `prometheus_address`, a `host:port`, is where this process answers Prometheus by HTTP, to anybody who reaches it,
    until `close` or its end; `address` says the port where 0 was given.

    `most_series` bounds how many topics of a source have a lag of their own: where there are more, it is that of their
    namespace, or of all. `by_partition` tells it of each topic partition, if there are no more than that. Both are
    about Prometheus alone; `lags` has all partitions.

    The listener is a collector of prometheus_client besides, which `REGISTRY.register` and `push_to_gateway` take. All
    this but `lags` needs the extra `metrics`. Raises `PrerequisiteMissing` without it, and `OptionError` for an address
    that cannot be had.
    """

    def __init__(
        self,
        prometheus_file: str | os.PathLike[str] | None = None,
        prometheus_address: str | None = None,
        *,
        most_series: int = 100,
        by_partition: bool = False,
    ) -> None:
        self._file = None if prometheus_file is None else Path(prometheus_file)
        self._lock = threading.Lock()
        self._lags: dict[tuple[str, int], SourceLag] = {}
        self._metrics = QueryMetrics(most_series, by_partition=by_partition)
        self._exposed: Exposition | None = None
        self.address: str | None = None
        if self._file is not None:
            self._exposition()
            self._metrics.restore(read_samples(self._file))
        if prometheus_address is not None:
            self.address = self._exposition().serve(prometheus_address)

    @property
    def lags(self) -> list[SourceLag]:
        """Of the queries that run, as they last told."""
        with self._lock:
            return list(self._lags.values())

    def collect(self) -> Iterator[Family]:
        """All metrics, as prometheus_client takes them. Raises `PrerequisiteMissing`."""
        return self._exposition().collect()

    def close(self) -> None:
        """No longer answer at `prometheus_address`."""
        if self._exposed is not None:
            self._exposed.close()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        with self._lock:
            self._metrics.start(str(event.id), event.name, str(event.runId))
        self._write()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        progress = event.progress
        ours: list[int] = []
        with self._lock:
            for number, source in enumerate(progress.sources):
                document = lag_document(source.latestOffset)
                if document is None:
                    continue
                ours.append(number)
                key = (str(progress.id), number)
                rows = source.numInputRows + (self._lags[key].rows if key in self._lags else 0)
                known = SourceLag(key[0], progress.name, number, progress.batchId, rows, 0, NOT_BEHIND)
                self._lags[key] = source_lag(document, known)
            self._metrics.progress(progress, ours)
        self._write()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Spark found nothing new at a trigger: the query is not behind."""
        now_ms = int(time.time() * 1000)
        with self._lock:
            for key, lag in self._lags.items():
                if key[0] == str(event.id):
                    self._lags[key] = lag.idle(now_ms)
        self._write()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        with self._lock:
            self._lags = {key: lag for key, lag in self._lags.items() if key[0] != str(event.id)}
            self._metrics.end(str(event.id), failed=event.exception is not None)
        self._write()

    def _exposition(self) -> Exposition:
        if self._exposed is None:
            self._exposed = Exposition(self._snapshot)
        return self._exposed

    def _snapshot(self) -> list[Metric]:
        with self._lock:
            return [metric.copy() for metric in self._metrics.metrics(list(self._lags.values()))]

    def _write(self) -> None:
        if self._file is not None:
            self._exposition().write(self._file)
