"""Metrics of a service that tiers topics, such as rows, failures, and the used share of the retention time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final

from pyspark_pulsar.tools.monitoring.query_metrics import Metric

_TOPIC: Final = ("topic",)


class TierMetrics:
    """The metrics of one process, with a series for each topic. Several threads can share an instance."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Start without topics. `clock` returns Unix seconds."""
        self._clock = clock
        self._lock = Lock()
        self._metrics = {metric.name: metric for metric in _metrics()}

    def record(
        self,
        topic: str,
        *,
        rows: int,
        files: int,
        size: int,
        is_fault: bool,
        retention_used: float | None,
    ) -> None:
        """Count one turn of a topic. In a turn, the service tiers the topic once.

        Args:
            topic: The full name of the topic.
            rows: The rows that were committed.
            files: The data files that were committed.
            size: The total size of the committed data files, in bytes.
            is_fault: Whether the turn ended with an error.
            retention_used: The share of the topic's retention that has passed for the first ledger that is not tiered.
                None if the turn tiered all closed ledgers, or if the topic has no retention.

        """
        labels = (topic,)
        ended = "tier_last_failure_timestamp_seconds" if is_fault else "tier_last_success_timestamp_seconds"
        with self._lock:
            for name, count in (
                ("tier_rows", rows),
                ("tier_files", files),
                ("tier_bytes", size),
                ("tier_failures", int(is_fault)),
            ):
                values = self._metrics[name].values
                values[labels] = values.get(labels, 0.0) + count
            self._metrics[ended].values[labels] = self._clock()
            shares = self._metrics["tier_retention_used_ratio"].values
            shares.pop(labels, None)
            if retention_used is not None:
                shares[labels] = retention_used

    def turn_ended(self) -> None:
        """Record the present time as the time at which all topics have had a turn."""
        with self._lock:
            self._metrics["tier_last_turn_timestamp_seconds"].values[()] = self._clock()

    def metrics(self) -> Iterable[Metric]:
        """Return a copy of all metrics."""
        with self._lock:
            return [metric.copy() for metric in self._metrics.values()]


def _metrics() -> Iterable[Metric]:
    return (
        Metric("tier_rows", "counter", "Rows that were committed to the topic's table.", _TOPIC),
        Metric("tier_files", "counter", "Data files that were committed to the topic's table.", _TOPIC),
        Metric("tier_bytes", "counter", "Bytes of these data files.", _TOPIC),
        Metric("tier_failures", "counter", "Turns of the topic that ended with an error.", _TOPIC),
        Metric(
            "tier_last_success_timestamp_seconds", "gauge", "When a turn last ended without an error.", _TOPIC
        ),
        Metric(
            "tier_last_failure_timestamp_seconds", "gauge", "When a turn last ended with an error.", _TOPIC
        ),
        Metric(
            "tier_retention_used_ratio",
            "gauge",
            "Share of retention that has passed for the first ledger that the last turn did not tier; from 1 on, rows "
            "may be lost.",
            _TOPIC,
        ),
        Metric("tier_last_turn_timestamp_seconds", "gauge", "When all topics last had their turn.", ()),
    )
