"""Rows per second and CPU per row of sinks, and the additional cost of transactions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from competitor import Competitor, Measures, medians
from process_use import cpu_seconds
from sink_writer import EPOCH_ROWS, avro_of, json_of, write_files
from stream_server import StreamServer

SINK_WRITER = (sys.executable, str(Path(__file__).parent / "sink_writer.py"))
OFFICIAL, OFFICIAL_BYTES = "official Python client, its schema", "official Python client, bytes made by us"
PERF, WARM_PERF = "pulsar-perf produce, the same size", "pulsar-perf produce, its next ten seconds"
NOWHERE = "Spark alone, the same rows to a Python sink that does nothing"
UNMEASURED = "the same, its record batches not measured after every row"
BATCH = "this package, batch"
STREAM, LARGE = "this package, stream", "this package, stream of 500,000 rows an epoch"
NOOP = "Spark alone, the same stream to its sink noop"
_TIMES_PERF = {BATCH: 1.5, STREAM: 0.7, LARGE: 1.0}
_MESSAGES, _BYTES = 1000, 128 * 1024
# The JVMs of Spark and the server compile during these rounds.
_WARM_UP_ROUNDS = 5
_PERF_SECONDS = 21
_PERF_INTERVAL = 10
_PERF_ROWS = 10_000
# pulsar-perf reads payloads as lines of text.
_PRINTABLE = bytes(byte if 32 <= byte < 127 else 32 + byte % 95 for byte in range(256))
_PERF_SENT = re.compile(r"Aggregated throughput stats --- (\d+) records sent")
_PERF_RATE = re.compile(r"Throughput produced: .*? --- +([\d.,]+) +msg/s")


@dataclass(frozen=True)
class Bench:
    server: StreamServer
    scratch: Path
    rows: int
    official_rows: int
    repeat: int

    def topic(self, name: str) -> str:
        """Create a new topic for each run, so that each writer has an empty topic."""
        topic = f"persistent://public/default/{name}-{time.time_ns():x}"
        self.server.create(topic, 1)
        return topic

    @property
    def files(self) -> str:
        """Return the folder of Parquet files, which is written once."""
        folder = self.scratch / "rows"
        if not folder.exists():
            write_files(folder, self.rows)
        return str(folder)


def measure_speed(bench: Bench) -> dict[str, Any]:
    return {"JSON": _speed(bench, "json", json_of), "Avro": _speed(bench, "avro", avro_of)}


def _speed(bench: Bench, value_format: str, encode: Callable[[int], bytes]) -> dict[str, Any]:
    size = len(encode(bench.rows // 2))
    official = {"rows": bench.official_rows, "format": value_format, "messages": _MESSAGES, "bytes": _BYTES}
    spark = {"rows": bench.rows, "format": value_format, "files": bench.files, "guarantee": "at-least-once"}
    jobs = {
        OFFICIAL: official | {"do": "official"},
        OFFICIAL_BYTES: official | {"do": "official bytes"},
        BATCH: spark | {"do": "batch"},
        STREAM: spark | {"do": "stream", "sink": "pulsar", "epoch_rows": EPOCH_ROWS},
        LARGE: spark | {"do": "stream", "sink": "pulsar", "epoch_rows": 5 * EPOCH_ROWS},
        NOOP: spark | {"do": "stream", "sink": "noop", "epoch_rows": EPOCH_ROWS},
        NOWHERE: spark | {"do": "nowhere", "measured": True},
        UNMEASURED: spark | {"do": "nowhere", "measured": False},
    }
    runs: dict[str, list[Measures]] = {name: [] for name in [*jobs, PERF, WARM_PERF]}
    with Competitor(SINK_WRITER) as python, Competitor(SINK_WRITER) as session:
        processes = {OFFICIAL: python, OFFICIAL_BYTES: python}
        for _ in range(_WARM_UP_ROUNDS):
            for job in (job for name, job in jobs.items() if name not in processes):
                session.run(_addressed(bench, job))
        for number in range(bench.repeat + 1):
            taken = {
                name: processes.get(name, session).run(
                    _addressed(bench, job), server_cpu=bench.server.cpu_seconds
                )
                for name, job in jobs.items()
            }
            taken[PERF], taken[WARM_PERF] = _perf(
                bench, [encode(row) for row in range(0, bench.rows, bench.rows // _PERF_ROWS)]
            )
            for name, took in taken.items() if number else ():
                runs[name].append(took)
    lines = {name: _line(f"{value_format}: {name}", each) for name, each in runs.items()}
    goals = [
        _goal(lines, who, whom, goal)
        for who in (BATCH, STREAM, LARGE)
        for whom, goal in (
            (OFFICIAL, 8.0),
            (OFFICIAL_BYTES, 8.0),
            (PERF, _TIMES_PERF[who]),
            (WARM_PERF, _TIMES_PERF[who]),
        )
    ]
    # This is the upper limit for every sink in Python.
    goals.append(_goal(lines, UNMEASURED, PERF, _TIMES_PERF[BATCH]))
    return {"payload_bytes": size, "measures": lines, "goals": goals}


def _addressed(bench: Bench, job: Mapping[str, Any]) -> dict[str, Any]:
    topic = bench.topic(job["do"].replace(" ", "-"))
    return {"service_url": bench.server.service_url, "topic": topic, **job}


def _perf(bench: Bench, payloads: list[bytes]) -> tuple[Measures, Measures]:
    """Measure pulsar-perf, which sends random payloads from this list for a fixed time.

    The list has several payloads, because LZ4 would shrink repetitions of one payload too well.

    Returns:
        The rates of the first ten seconds, in which the JVM compiles, and of the next ten. CPU covers all rows.
    """
    file = bench.scratch / "payload"
    file.write_bytes(b"\n".join(each.translate(_PRINTABLE) for each in payloads))
    command = [
        f"{bench.server.home}/bin/pulsar-perf", "produce", "--service-url", bench.server.service_url,
        "--rate", "100000000", "--test-duration", str(_PERF_SECONDS), "--payload-file", str(file),
        "--batch-max-messages", str(_MESSAGES), "--batch-max-bytes", str(_BYTES), "--compression", "LZ4",
        "--max-outstanding", "20000", "--memory-limit", str(64 << 20), bench.topic("perf"),
    ]  # fmt: skip
    server, own = bench.server.cpu_seconds(), cpu_seconds(os.getpid())
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    printed = found.stdout + found.stderr
    sent = _PERF_SENT.search(printed)
    assert sent is not None, printed[-4000:]
    cpu, server_cpu = cpu_seconds(os.getpid()) - own, bench.server.cpu_seconds() - server
    first, second, *_ = (
        _PERF_INTERVAL * float(rate.replace(",", "")) for rate in _PERF_RATE.findall(printed)
    )
    return _part(first, int(sent[1]), cpu, server_cpu), _part(second, int(sent[1]), cpu, server_cpu)


def _part(rows: float, of_rows: int, cpu: float, server_cpu: float) -> Measures:
    part = rows / of_rows
    return {
        "rows": round(rows),
        "seconds": _PERF_INTERVAL,
        "cpu": part * cpu,
        "server_cpu": part * server_cpu,
    }


def measure_exactly_once(bench: Bench) -> dict[str, Any]:
    """Return the durations of micro-batches in Spark's progress, without the first micro-batch of each query."""
    guarantees = ("at-least-once", "exactly-once")
    job = {"do": "stream", "rows": bench.rows, "format": "json", "files": bench.files}
    job |= {"sink": "pulsar", "epoch_rows": EPOCH_ROWS}
    runs: dict[str, list[Measures]] = {each: [] for each in guarantees}
    with Competitor(SINK_WRITER) as session:
        for number in range(_WARM_UP_ROUNDS + bench.repeat):
            for each in guarantees:
                took = session.run(
                    _addressed(bench, job | {"guarantee": each}), server_cpu=bench.server.cpu_seconds
                )
                if number >= _WARM_UP_ROUNDS:
                    runs[each].append(took)
    lines = {name: _line(name, each) for name, each in runs.items()}
    plain, exact = (lines[each]["epoch_milliseconds"] for each in guarantees)
    cost = round(1 - plain / exact, 3)
    print(f"    exactly-once: {cost:.1%} fewer rows per second", flush=True)
    return {
        "rows_of_an_epoch": EPOCH_ROWS,
        "measures": lines,
        "goals": [{"what": "rate lost by exactly-once", "goal": 0.3, "got": cost, "met": cost <= 0.3}],
    }


def _line(title: str, runs: list[Measures]) -> dict[str, float]:
    took = medians(runs)
    rows = took["rows"]
    line = {
        "rows": int(rows),
        "seconds": round(took["seconds"], 3),
        "rows_per_second": round(rows / took["seconds"]),
        "cpu_microseconds_per_row": round(1e6 * took["cpu"] / rows, 3),
        "server_cpu_microseconds_per_row": round(1e6 * took["server_cpu"] / rows, 3),
    }
    if "epoch_milliseconds" in took:
        line["epoch_milliseconds"] = round(took["epoch_milliseconds"], 1)
    print(
        f"{title:56} {line['rows_per_second']:10,.0f} rows/s {line['cpu_microseconds_per_row']:7.2f} us CPU/row, "
        f"server {line['server_cpu_microseconds_per_row']:.2f}",
        flush=True,
    )
    return line


def _goal(lines: Mapping[str, Mapping[str, float]], who: str, whom: str, goal: float) -> dict[str, Any]:
    got = round(lines[who]["rows_per_second"] / lines[whom]["rows_per_second"], 2)
    found = {"what": f"{who}, against {whom}", "goal": goal, "got": got, "met": got >= goal}
    print(f"    {found}", flush=True)
    return found
