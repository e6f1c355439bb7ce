"""Latency from publishing to the row, at steady rates, and its parts."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from benchmark import Bench
from competitors import PEER, PRODUCT, Job, sessions, source
from integration.official import await_true
from process_use import load_average
from rows import PARTITIONS
from stream_server import StreamServer
from turns import Run

PLAIN: Final = "official Java client, consumer"
_PROGRAM: Final = "peers/java/TimedMessages"
_WARM_UP_SECONDS: Final = 15.0
_LEAST_OF_RATE: Final = 0.9
_MOST_STALLS: Final = 20


def measure_latency(bench: Bench) -> dict[str, Any]:
    """Measure each rate of messages per second. A plain consumer shows the share of broker and client.

    Sessions are new ones, without earlier queries.
    """
    with sessions(bench.sessions.server, bench.scratch) as fresh:
        own = replace(bench, sessions=fresh)
        return {f"{rate}": _at(own, rate) for rate in bench.latency_rates}


def _at(bench: Bench, rate: int) -> dict[str, Any]:
    runs: dict[str, list[Run]] = {PLAIN: [], PEER: [], PRODUCT: []}
    for _ in range(bench.repeat):
        for name, each in runs.items():
            took = _took(bench, name, rate)
            assert took["rows"] > _LEAST_OF_RATE * rate * bench.latency_seconds, (name, rate, took["rows"])
            print(f"latency, {rate:,} a second {name:34} {took}", flush=True)
            each.append(took)
    lines = {name: _line(each) for name, each in runs.items()}
    return {"load": round(load_average(), 2), "partitions": PARTITIONS, "competitors": lines}


def _took(bench: Bench, name: str, rate: int) -> Run:
    """Measure on a topic of its own. A stalled query is started again, and `stalls` counts the restarts.

    In one analyzed stall of the other connector, a task had read past the end of its range, and continued to read.
    """
    server = bench.sessions.server
    for stalls in range(_MOST_STALLS):
        topic = f"persistent://public/default/latency-{time.time_ns():x}"
        server.create(topic, PARTITIONS)
        server.keep(topic)
        with _sending(server, topic, rate):
            if name == PLAIN:
                return _plain(bench, topic)
            took = bench.sessions.run(name, _job(bench, name, topic))
        if not took.get("stalled"):
            return took | {"stalls": stalls}
        print(f"latency, {rate:,} a second {name:34} stalls", flush=True)
    raise AssertionError(f"{name} has stalled {_MOST_STALLS} times")


def _job(bench: Bench, name: str, topic: str) -> Job:
    job = {"do": "latency", "seconds": bench.latency_seconds, "warm_up_seconds": _WARM_UP_SECONDS}
    return job | source(name, bench.sessions.server, topic, startingOffsets="latest")


def _line(runs: list[Run]) -> dict[str, Any]:
    """Return medians of the rounds."""
    taken: dict[str, Any] = {
        "p50_ms": round(statistics.median(run["p50_ms"] for run in runs)),
        "p99_ms": round(statistics.median(run["p99_ms"] for run in runs)),
        "p50_ms_of_rounds": [round(run["p50_ms"]) for run in runs],
        "p99_ms_of_rounds": [round(run["p99_ms"]) for run in runs],
    }
    if "parts_ms" in runs[0]:
        taken["micro_batches"] = round(statistics.median(run["micro_batches"] for run in runs))
        names = runs[0]["parts_ms"]
        taken["parts_ms"] = {
            name: round(statistics.median(run["parts_ms"][name] for run in runs), 1) for name in names
        }
        cores = statistics.median(run["cpu"] / run["seconds"] for run in runs)
        taken["client_cores"] = round(cores, 2)
        taken["stalls"] = sum(run["stalls"] for run in runs)
    return taken


def _plain(bench: Bench, topic: str) -> Run:
    server = bench.sessions.server
    command = server.java_command(_PROGRAM)
    found = subprocess.run(
        [*command, "consume", server.service_url, topic, str(bench.latency_seconds)],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return dict(json.loads(found.stdout.splitlines()[-1]))


@contextlib.contextmanager
def _sending(server: StreamServer, topic: str, rate: int) -> Iterator[None]:
    """Send at a steady rate until the `with` block ends.

    Each partition has a message when the block begins, because some readers need one message.
    """
    command = [*server.java_command(_PROGRAM), "produce", server.service_url, topic, str(rate)]
    producer = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        partitions = [f"{topic}-partition-{number}" for number in range(PARTITIONS)]
        await_true("the first messages", lambda: all(server.admin.entries(each) for each in partitions))
        yield
        assert producer.poll() is None, "the producer has ended"
    finally:
        producer.kill()
        producer.wait(10)
