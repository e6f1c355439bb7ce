"""Latency from a message's sending to its row in foreachBatch, and its parts; runs in session.py."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

_SENT_BYTES = 8
_WAIT_SECONDS = 20.0
_LOOK_SECONDS = 0.05
# The moment at which the JVM of the task has the row.
_SEEN = "CAST(reflect('java.lang.System', 'currentTimeMillis') AS BIGINT) AS seen"


class Stalled(Exception):
    """A query that runs, but returns no rows although the topic has rows."""


@dataclass(frozen=True)
class Epoch:
    number: int
    sent: list[float]
    """Return the present time in milliseconds since 1970."""
    first_seen: float
    last_seen: float
    arrived: float


def measure_latency(spark: SparkSession, job: dict[str, Any]) -> dict[str, Any]:
    """Measure messages sent within `seconds`, after the query has run for `warm_up_seconds`.

    Values begin with the time of sending, in milliseconds since 1970 as 8 bytes. The answer is `stalled` alone, if the
    query returns no rows for 20 s.
    """
    epochs: list[Epoch] = []

    def receive(frame: DataFrame, number: int) -> None:
        rows = _collected(frame.selectExpr("value", _SEEN))
        arrived = time.time() * 1000
        if rows.num_rows:
            seen = rows.column("seen").to_pylist()
            sent = [int.from_bytes(value[:_SENT_BYTES], "big") for value in rows.column("value").to_pylist()]
            epochs.append(Epoch(number, sent, min(seen), max(seen), arrived))

    stream = spark.readStream.format(job["format"]).options(**job["options"]).load().select("value")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as checkpoint:
        writer = stream.writeStream.foreachBatch(receive).option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime="0 seconds").start()
        try:
            _await(query, epochs, time.time() * 1000)
            begin = (time.time() + job["warm_up_seconds"]) * 1000
            end = begin + job["seconds"] * 1000
            _await(query, epochs, end)
        except Stalled:
            return {"stalled": True}
        finally:
            query.stop()
        progress = [json.loads(each.json()) for each in query._jsq.recentProgress()]  # noqa: SLF001 - equal in both
    latencies = sorted(epoch.arrived - sent for epoch in epochs for sent in epoch.sent if begin <= sent < end)
    # The query may have been stopped before Spark reported its last micro-batch.
    told = {each["batchId"]: each for each in progress}
    measured = [epoch for epoch in epochs if begin <= epoch.sent[-1] < end and epoch.number in told]
    return {
        "rows": len(latencies),
        "micro_batches": len(measured),
        "p50_ms": latencies[len(latencies) // 2],
        "p99_ms": latencies[len(latencies) * 99 // 100],
        "max_ms": latencies[-1],
        "parts_ms": _parts(measured, told),
    }


def _collected(frame: DataFrame) -> pa.Table:
    """Return the rows as Arrow. PySpark 3.5 has a public method for pandas only."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    batches = frame._collect_as_arrow()  # noqa: SLF001
    return pa.Table.from_batches(
        batches, None if batches else pa.schema([("value", pa.binary()), ("seen", pa.int64())])
    )


def _await(query: Any, epochs: list[Epoch], moment: float) -> None:
    """Wait for a row that was sent at `moment` or later. Raises `Stalled`."""
    known, give_up = len(epochs), time.monotonic() + _WAIT_SECONDS
    while not epochs or max(epochs[-1].sent) < moment:
        assert query.isActive, query.exception()
        if len(epochs) > known:
            known, give_up = len(epochs), time.monotonic() + _WAIT_SECONDS
        if time.monotonic() > give_up:
            raise Stalled
        time.sleep(_LOOK_SECONDS)


def _parts(epochs: list[Epoch], progress: dict[int, dict[str, Any]]) -> dict[str, float]:
    """Return medians of the parts. The first five follow each other and end when the driver has the rows.

    The commit follows, and the next micro-batch waits for it.
    """
    found: dict[str, list[float]] = {}
    for epoch in epochs:
        durations = progress[epoch.number]["durationMs"]
        begin = datetime.fromisoformat(progress[epoch.number]["timestamp"]).timestamp() * 1000
        # Sources of Spark's first interface, like the other connector, have another name for this duration.
        asking = durations.get("latestOffset", 0) + durations.get("getOffset", 0)
        known = begin + asking
        planning = sum(durations.get(name, 0) for name in ("walCommit", "getBatch", "queryPlanning"))
        started = known + planning
        spent = asking + planning + durations["addBatch"]
        parts = {
            "until the driver knows of the message": statistics.median(known - sent for sent in epoch.sent),
            "of it, requesting the newest offsets": asking,
            "planning and write-ahead log": planning,
            "start of tasks, to the first row": epoch.first_seen - started,
            "reading, first to last row": epoch.last_seen - epoch.first_seen,
            "handing over to the driver": epoch.arrived - epoch.last_seen,
            "commit": durations["triggerExecution"] - spent,
            "the whole micro-batch": durations["triggerExecution"],
        }
        for name, part in parts.items():
            found.setdefault(name, []).append(part)
    return {name: round(statistics.median(each), 1) for name, each in found.items()}
