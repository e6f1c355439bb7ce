"""Rows per second and CPU per row of streams that catch up, against the official Python and Java clients."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulsar as official
from competitor import Competitor, Measures, medians
from stream_server import StreamServer

STREAM_READER = (sys.executable, str(Path(__file__).parent / "stream_reader.py"))
PYTHON, JAVA = "official Python client, batch_receive", "official Java client, Reader"
ARROW, STREAM = "this package, to Arrow", "this package, readStream to noop"
READY = "Spark alone, the same rows from a Python source that has them ready"
STREAM_DIRECT, STREAM_WIDE = f"{STREAM}, from bookies", f"{STREAM}, seven columns"
_QUEUE = 20_000
_KEYS = 1000
_PAYLOAD = b"0123456789" * 10
# The loops of the other competitors read these columns.
_SAME = {"columns": "value,__messageId"}


@dataclass(frozen=True)
class Case:
    name: str
    topic: str
    rows: int
    partitions: int
    batch: int
    """The number of messages in an entry."""
    goals: tuple[tuple[str, str, float], ...]
    """The first competitor, the second competitor, and the least ratio of the first speed to the second."""

    @property
    def full_name(self) -> str:
        return f"persistent://public/default/{self.topic}"


def cases(rows: int, small_rows: int, ten_rows: int) -> list[Case]:
    fast = ((STREAM, PYTHON, 5.0), (STREAM, JAVA, 2.0))
    never_slower = ((ARROW, PYTHON, 1.0), (STREAM, PYTHON, 1.0))
    return [
        Case("catch up, 1 partition, entries of 1000 messages", "one", rows, 1, 1000, fast),
        Case("catch up, 4 partitions, entries of 1000 messages", "four", rows, 4, 1000, fast),
        Case("small entries, 10 messages", "ten", ten_rows, 1, 10, never_slower),
        Case("small entries, unbatched", "single", small_rows, 1, 1, never_slower),
    ]


def fill(server: StreamServer, case: Case) -> None:
    """Send values of 100 bytes with keys and event times, LZ4, in entries of exactly `case.batch` messages."""
    client = official.Client(server.service_url, logger=official.ConsoleLogger(official.LoggerLevel.Error))
    server.create(case.full_name, case.partitions)
    names = [case.full_name]
    if case.partitions > 1:
        names = [f"{case.full_name}-partition-{index}" for index in range(case.partitions)]
    for name in names:
        producer = client.create_producer(
            name,
            batching_enabled=case.batch > 1,
            batching_max_messages=max(2, case.batch),
            batching_max_allowed_size_in_bytes=4 << 20,
            batching_max_publish_delay_ms=10_000,
            max_pending_messages=20_000,
            block_if_queue_full=True,
            compression_type=official.CompressionType.LZ4,
        )
        for number in range(case.rows // case.partitions):
            producer.send_async(
                _PAYLOAD, None, partition_key=f"key-{number % _KEYS}", event_timestamp=1 + number
            )
        producer.flush()
        producer.close()
    client.close()
    for name in names:
        server.close_ledger(name)


def measure_speed(server: StreamServer, case: Case, repeat: int) -> dict[str, Any]:
    """Run the competitors in turn, each in a separate process. The first round does not count."""
    fill(server, case)
    job = {"service_url": server.service_url, "topic": case.full_name, "rows": case.rows, "queue": _QUEUE}
    stream = job | {"do": "catch up"}
    jobs: dict[str, Mapping[str, Any] | str] = {
        PYTHON: job | {"do": "official"},
        JAVA: f"{server.service_url} {case.full_name} {case.rows} {_QUEUE}",
        ARROW: job | {"do": "arrow", "columns": _SAME["columns"].split(",")},
        STREAM: stream | {"options": _SAME},
        STREAM_DIRECT: stream | {"options": _SAME | {"admin.url": server.admin_url}},
        STREAM_WIDE: stream,
        READY: stream
        | {"source": "ready", "options": {"rows": case.rows, "splits": max(2, case.partitions)}},
    }
    runs: dict[str, list[Measures]] = {name: [] for name in jobs}
    with (
        Competitor(STREAM_READER) as python,
        Competitor(server.java_command("PlainReader")) as java,
        Competitor(STREAM_READER) as arrow,
        Competitor(STREAM_READER) as spark,
    ):
        processes = {PYTHON: python, JAVA: java, ARROW: arrow}
        for number in range(repeat + 1):
            for name, each in jobs.items():
                took = processes.get(name, spark).run(each, server_cpu=server.cpu_seconds)
                assert took["rows"] == case.rows, (name, took)
                if number:
                    runs[name].append(took)
    return report(case, runs)


def report(case: Case, runs: Mapping[str, list[Measures]]) -> dict[str, Any]:
    lines: dict[str, dict[str, float]] = {}
    for name, each in runs.items():
        took = medians(each)
        lines[name] = {
            "rows": case.rows,
            "seconds": round(took["seconds"], 3),
            "rows_per_second": round(case.rows / took["seconds"]),
            "cpu_microseconds_per_row": round(1e6 * took["cpu"] / case.rows, 3),
            "server_cpu_microseconds_per_row": round(1e6 * took["server_cpu"] / case.rows, 3),
        }
        if "micro_batches" in took:
            lines[name]["rows_per_second_in_micro_batches"] = round(case.rows / took["micro_batches"])
        print(
            f"{case.name:48} {name:56} {lines[name]['rows_per_second']:10,.0f} rows/s "
            f"{lines[name]['cpu_microseconds_per_row']:7.2f} us CPU/row",
            flush=True,
        )
    return {"measures": lines, "goals": [_goal(lines, *goal) for goal in case.goals]}


def _goal(lines: Mapping[str, Mapping[str, float]], who: str, whom: str, goal: float) -> dict[str, Any]:
    """Return the goal with the measured ratio `got`, which includes the start of the query.

    For a stream, the result also has the ratio without the start."""
    theirs = lines[whom]["rows_per_second"]
    got = round(lines[who]["rows_per_second"] / theirs, 2)
    found = {"what": f"{who}, against {whom}", "goal": goal, "got": got, "met": got >= goal}
    running = lines[who].get("rows_per_second_in_micro_batches")
    if running is not None:
        found["got_in_micro_batches"] = round(running / theirs, 2)
    print(f"    {found}", flush=True)
    return found
