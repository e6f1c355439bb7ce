"""A listener that reports the lag and the progress of a session's streams, to users and to Prometheus.

The listener runs in the process of the user's program.
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
from pyspark_pulsar.tools.monitoring.source_lag import NO_LAG, SourceLag, lag_document, source_lag

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class PulsarProgressListener(StreamingQueryListener):
    """A listener for the lag and the metrics of all queries that read or write with `format("pulsar")`.

    Add the listener with `spark.streams.addListener`. The attribute `lags` contains the lag of all topic partitions.
    All features except this attribute need the extra `metrics`. The listener is also a collector of prometheus_client,
    for `REGISTRY.register` and `push_to_gateway`.

    Args:
        prometheus_file: A file in Prometheus' text format, which is replaced atomically at each event. The folder must
            exist. For the `textfile` collector of the node exporter, the name must end in `.prom`. Counters continue
            from the values in the file, so at most one program at a time is allowed to use the file.
        prometheus_address: The `host:port` at which this process serves the metrics over HTTP, without authentication.
            The server stops at `close`, or when the process ends. Port 0 chooses a free port. The attribute `address`
            contains the chosen port.
        most_series: The largest number of topics for which the lag of a source is reported per topic. With more topics,
            the lag is reported per namespace, or as one value for all topics.
        by_partition: Report the lag per topic partition, if a source has at most `most_series` topic partitions.

    Raises:
        PrerequisiteMissing: The extra `metrics` is not installed.
        OptionError: The host is not an address of this machine, or the port is in use.

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
        """The lags of the running queries, from their last progress."""
        with self._lock:
            return list(self._lags.values())

    def collect(self) -> Iterator[Family]:
        """Return all metrics as families of prometheus_client. Raises `PrerequisiteMissing`."""
        return self._exposition().collect()

    def close(self) -> None:
        """Stop the HTTP server at `prometheus_address`."""
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
                known = SourceLag(key[0], progress.name, number, progress.batchId, rows, 0, NO_LAG)
                self._lags[key] = source_lag(document, known)
            self._metrics.progress(progress, ours)
        self._write()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Set the lag to 0, because Spark found no new message at a trigger."""
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
