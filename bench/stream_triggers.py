"""What a trigger costs that finds nothing or little, and how long a message takes to its row."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from competitor import Competitor
from stream_server import StreamServer
from stream_speed import STREAM_READER

_WRITER = Path(__file__).parent / "steady_writer.py"
_IDLE_GOAL_MS, _P50_GOAL_MS, _P99_GOAL_MS = 50.0, 1000.0, 2500.0
_RATE = 2000


def measure_triggers(server: StreamServer, seconds: float, repeat: int) -> dict[str, Any]:
    """Medians in milliseconds against Spark's own rate sources, in turn."""
    topic = "persistent://public/default/idle"
    server.create(topic, 1)
    job = {"service_url": server.service_url, "topic": topic, "seconds": seconds, "warm_up_seconds": seconds}
    found: dict[str, dict[str, list[float]]] = {}
    with Competitor(STREAM_READER) as spark:
        for _ in range(repeat):
            for source in ("rate", "this package"):
                took = spark.run(job | {"do": "idle", "source": source})
                found.setdefault("idle", {}).setdefault(source, []).append(took["p50_ms"])
        for _ in range(repeat):
            for source in ("rate", "this package"):
                with _writing(server, topic, 200):
                    took = spark.run(job | {"do": "small triggers", "source": source})
                found.setdefault("few rows", {}).setdefault(source, []).append(took["p50_ms"])
    report: dict[str, Any] = {}
    for kind, by_source in found.items():
        medians = {source: sorted(each)[len(each) // 2] for source, each in by_source.items()}
        more = round(medians["this package"] - medians["rate"], 1)
        report[kind] = medians | {"more_ms": more}
        print(f"{kind:10} trigger: {report[kind]}", flush=True)
    more = report["idle"]["more_ms"]
    report["goals"] = [_goal("an idle trigger, more than the rate source's, ms", _IDLE_GOAL_MS, more)]
    return report


def measure_latency(server: StreamServer, seconds: float) -> dict[str, Any]:
    """From publish to row, with processingTime 0, in milliseconds."""
    topic = "persistent://public/default/latency"
    server.create(topic, 1)
    job = {"service_url": server.service_url, "topic": topic, "seconds": seconds, "warm_up_seconds": 15.0}
    with Competitor(STREAM_READER) as spark, _writing(server, topic, _RATE):
        took = spark.run(job | {"do": "latency"})
    names = ("rows", "epochs", "p50_ms", "p99_ms", "max_ms")
    report: dict[str, Any] = {name: round(took[name], 1) for name in names}
    assert took["rows"] > 0.9 * _RATE * seconds, took
    report["messages_per_second"] = _RATE
    report["goals"] = [
        _goal("publish to row, p50 ms", _P50_GOAL_MS, report["p50_ms"]),
        _goal("publish to row, p99 ms", _P99_GOAL_MS, report["p99_ms"]),
    ]
    print(f"latency: {report}", flush=True)
    return report


def _goal(what: str, below: float, got: float) -> dict[str, Any]:
    return {"what": what, "goal": below, "got": got, "met": got < below}


@contextlib.contextmanager
def _writing(server: StreamServer, topic: str, per_second: int) -> Iterator[None]:
    command = [sys.executable, str(_WRITER), server.service_url, topic, str(per_second)]
    writer = subprocess.Popen(command)
    try:
        yield
        assert writer.poll() is None, "the writer has ended"
    finally:
        writer.kill()
        writer.wait(10)
