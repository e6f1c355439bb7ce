"""From publishing to the row, at steady rates, and the parts of that time."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, Self

from benchmark import Bench
from competitor import Competitor
from competitors import PEER, PRODUCT, Job, peer_session, product_session, source
from integration.official import await_true
from process_use import load_average
from rows import PARTITIONS
from stream_server import StreamServer
from turns import Run

PLAIN: Final = "official Java client, consumer"
_PROGRAM: Final = "peers/java/TimedMessages"
_WARM_UP_SECONDS: Final = 15.0
_FIRST_WARM_UP_SECONDS: Final = 45.0
_LEAST_OF_RATE: Final = 0.9
_MOST_STALLS: Final = 10


class LatencySession:
    """One competitor's, its own. A query that stalls is begun anew in a new session: the tasks of the
    stalled one do not end, and would keep the cores of the next. The first query of a session warms up for longer."""

    def __init__(self, start: Callable[[], AbstractContextManager[tuple[Competitor, str]]]) -> None:
        self._start = start
        self._exits = contextlib.ExitStack()
        self._session: Competitor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, job: Job, server_cpu: Callable[[], float]) -> Run:
        if self._session is None:
            self._session, _version = self._exits.enter_context(self._start())
            job = job | {"warm_up_seconds": _FIRST_WARM_UP_SECONDS}
        took = self._session.run(job, server_cpu=server_cpu)
        if took.get("stalled"):
            self._end()
        return took

    def _end(self) -> None:
        self._session = None
        self._exits.close()


def measure_latency(bench: Bench) -> dict[str, Any]:
    """By messages a second. A plain consumer shows what broker and client take by themselves."""
    server = bench.sessions.server
    with (
        LatencySession(peer_session) as peer,
        LatencySession(partial(product_session, server, bench.scratch)) as product,
    ):
        sessions = {PEER: peer, PRODUCT: product}
        return {f"{rate}": _at(bench, sessions, rate) for rate in bench.latency_rates}


def _at(bench: Bench, sessions: dict[str, LatencySession], rate: int) -> dict[str, Any]:
    runs: dict[str, list[Run]] = {PLAIN: [], PEER: [], PRODUCT: []}
    for _ in range(bench.repeat):
        for name, each in runs.items():
            took = _took(bench, sessions.get(name), name, rate)
            assert took["rows"] > _LEAST_OF_RATE * rate * bench.latency_seconds, (name, rate, took["rows"])
            print(f"latency, {rate:,} a second {name:34} {took}", flush=True)
            each.append(took)
    lines = {name: _line(each) for name, each in runs.items()}
    return {"load": round(load_average(), 2), "partitions": PARTITIONS, "competitors": lines}


def _took(bench: Bench, session: LatencySession | None, name: str, rate: int) -> Run:
    """On a topic of its own. A query that stalls is begun anew, and `stalls` tells how often."""
    server = bench.sessions.server
    for stalls in range(_MOST_STALLS):
        topic = f"persistent://public/default/latency-{time.time_ns():x}"
        server.create(topic, PARTITIONS)
        server.keep(topic)
        with _sending(server, topic, rate):
            if session is None:
                return _plain(bench, topic)
            took = session.run(_job(bench, name, topic), server.cpu_seconds)
        if not took.get("stalled"):
            return took | {"stalls": stalls}
        print(f"latency, {rate:,} a second {name:34} stalls", flush=True)
    raise AssertionError(f"{name} has stalled {_MOST_STALLS} times")


def _job(bench: Bench, name: str, topic: str) -> Job:
    job = {"do": "latency", "seconds": bench.latency_seconds, "warm_up_seconds": _WARM_UP_SECONDS}
    return job | source(name, bench.sessions.server, topic, startingOffsets="latest")


def _line(runs: list[Run]) -> dict[str, Any]:
    """Medians of the rounds."""
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
    """At a steady rate from `with` to its end; each partition has a message then, as some readers wait for one."""
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
