"""The official clients and pulsar-perf on the same topics: they look at payloads and ids, and decode nothing."""

from __future__ import annotations

import os
import re
import subprocess
import time
from functools import partial
from typing import Any, Final

import rows
from benchmark import Bench
from competitor import Competitor
from process_use import cpu_seconds
from stream_server import StreamServer
from stream_speed import JAVA, PYTHON, STREAM_READER
from turns import Run, in_turn, measured

PERF: Final = "pulsar-perf consume"
_QUEUE: Final = 20_000
_RECEIVED: Final = re.compile(r"Aggregated throughput stats --- (\d+) records received --- ([\d.]+) msg/s")


def measure_clients(bench: Bench) -> dict[str, Any]:
    server, count = bench.sessions.server, bench.rows
    found = {}
    with Competitor(STREAM_READER) as python, Competitor(server.java_command("PlainReader")) as java:
        for value_format in rows.FORMATS:
            topic = bench.topics.filled(value_format, count)
            job = {
                "do": "official",
                "service_url": server.service_url,
                "topic": topic,
                "rows": count,
                "queue": _QUEUE,
            }
            line = f"{server.service_url} {topic} {count} {_QUEUE}"
            jobs = {
                PYTHON: partial(python.run, job, server_cpu=server.cpu_seconds),
                JAVA: partial(java.run, line, server_cpu=server.cpu_seconds),
                PERF: partial(_perf, server, topic, count),
            }
            runs = in_turn(jobs, bench.repeat)
            for name, each in runs.items():
                assert all(run["rows"] == count for run in each), (name, each)
            found[value_format] = measured(f"{value_format}, clients", count, runs)
    return found


def _perf(server: StreamServer, topic: str, count: int) -> Run:
    """Its own figure of messages a second, which leaves out the start of its JVM; the CPU is with it."""
    command = [
        f"{server.home}/bin/pulsar-perf", "consume", "--service-url", server.service_url, "--num-messages", str(count),
        "--subscription-position", "Earliest", "--subscriptions", f"perf-{time.time_ns():x}",
        "--receiver-queue-size", str(_QUEUE), topic,
    ]  # fmt: skip
    used, own = server.cpu_seconds(), cpu_seconds(os.getpid())
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    received = _RECEIVED.search(found.stdout + found.stderr)
    assert received is not None, found.stdout[-2000:] + found.stderr[-2000:]
    return {
        "rows": min(int(received[1]), count),
        "seconds": count / float(received[2]),
        "cpu": cpu_seconds(os.getpid()) - own,
        "server_cpu": server.cpu_seconds() - used,
    }
