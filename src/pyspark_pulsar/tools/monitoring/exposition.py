"""Exposition of metrics to Prometheus: a file for the node exporter, an HTTP endpoint, or a registry to push from.

The formats and the server are from prometheus_client, which the extra `metrics` installs.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.errors import OptionError, PrerequisiteMissing
from pyspark_pulsar.tools.monitoring.query_metrics import PREFIX, Metric

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

_log: Final = logging.getLogger(__name__)


class Exposition:
    """A thread-safe collector of prometheus_client, for `REGISTRY.register` and `push_to_gateway`."""

    def __init__(self, metrics: Callable[[], Iterable[Metric]]) -> None:
        """Store the function `metrics`, which each scrape calls. Raises `PrerequisiteMissing`."""
        require_client()
        self._metrics = metrics
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self._could_write = True

    def collect(self) -> Iterator[Family]:
        """Yield the metrics as families of prometheus_client."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for metric in self._metrics():
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = kind(PREFIX + metric.name, metric.text, labels=metric.labels)
            for labels, value in metric.values.items():
                family.add_metric(labels, value)
            yield family

    def write(self, file: Path) -> None:
        """Replace a file with the present metrics, atomically.

        A failure is logged and raises no error, because a full disk must not fail a query. After a failure, further
        failures are not logged until a write succeeds.
        """
        from prometheus_client import write_to_textfile

        try:
            write_to_textfile(str(file), self)
            self._could_write = True
        except OSError as fault:
            if self._could_write:
                self._could_write = False
                _log.warning("Cannot write the metrics (%s): %s", fault, file)

    def serve(self, address: str) -> str:
        """Serve the metrics over HTTP at `host:port`, and return the address. Port 0 chooses a free port.

        Raises:
            OptionError: The host is not an address of this machine, or the port is in use.

        """
        from prometheus_client import start_http_server

        host, port = _host_and_port(address)
        try:
            self._server, self._thread = start_http_server(port, host, registry=self)
        except OSError as fault:
            raise OptionError(
                f"prometheus_address: expected an address of this machine with a free port, got {address}: "
                f"{os.strerror(fault.errno) if fault.errno and fault.errno > 0 else fault}; choose another port, or "
                f"port 0 for any free port"
            ) from None
        return f"{address.rpartition(':')[0]}:{self._server.server_port}"

    def close(self) -> None:
        """Stop the HTTP server."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def read_samples(file: Path) -> list[tuple[str, Mapping[str, str], float]]:
    """Read the metrics that another process has written to a file.

    Returns:
        The name, the labels and the value of each metric, in the form that `QueryMetrics.restore` needs. The list is
        empty if the file is missing or damaged. A damaged file is logged.

    """
    from prometheus_client.parser import text_string_to_metric_families

    try:
        text = file.read_text(encoding="utf-8")
        return [
            (sample.name.removeprefix(PREFIX).removesuffix("_total"), sample.labels, float(sample.value))
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as fault:
        _log.warning(
            "Counters start from zero, because the previous metrics cannot be read (%s): %s", fault, file
        )
        return []


def require_client() -> None:
    """Raise `PrerequisiteMissing` if prometheus_client is not installed."""
    try:
        import prometheus_client  # noqa: F401
    except ModuleNotFoundError:
        raise PrerequisiteMissing(
            "metrics for Prometheus: expected the package prometheus_client in the program that adds the listener, got "
            "none; run `pip install 'pyspark-pulsar[metrics]'`"
        ) from None


def _host_and_port(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or not host:
        raise OptionError(
            f"prometheus_address: expected host:port, such as 127.0.0.1:9464, or 0.0.0.0:9464 for other machines, got "
            f"{address!r}"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)
