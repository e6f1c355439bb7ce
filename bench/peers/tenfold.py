"""Ten times the data: the growth of the time, and the peak memory of the client."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import queries
from benchmark import Bench
from competitor import Competitor
from competitors import PEER, PRODUCT, peer_session, product_session, source
from process_use import memory_below
from queries import ALL
from turns import Run, in_turn, line, show

_FORMAT = "json"
_TIMES = 10
_SAMPLE_SECONDS = 0.2


def measure_tenfold(bench: Bench) -> dict[str, Any]:
    """Measure an aggregation of all columns, for both sizes.

    Each size runs in a separate session, so that no measure includes memory of another session.
    """
    found: dict[str, dict[str, Any]] = {}
    counts = (bench.rows, _TIMES * bench.rows)
    with contextlib.ExitStack() as open_sessions:
        jobs = {
            (name, count): partial(
                _query, open_sessions.enter_context(_session(bench, name))[0], bench, name, count
            )
            for name in (PEER, PRODUCT)
            for count in counts
        }
        runs = _in_turn(jobs, bench.repeat)
    for count in counts:
        answers = {name: each[0]["answer"] for (name, own), each in runs.items() if own == count}
        queries.check_answers(f"tenfold, {count}", answers, count)
    for name in (PEER, PRODUCT):
        lines = {str(count): _line(count, runs[name, count]) for count in counts}
        show(f"tenfold, {name}", lines)
        small, large = (lines[str(count)] for count in counts)
        found[name] = lines | {
            "times_the_seconds": round(large["seconds"] / small["seconds"], 2),
            "times_the_memory": round(large["peak_mebibytes"] / small["peak_mebibytes"], 2),
        }
    return {"rows": bench.rows, "times": _TIMES, "competitors": found, "answers": "equal"}


def _in_turn(jobs: dict[tuple[str, int], Callable[[], Run]], repeat: int) -> dict[tuple[str, int], list[Run]]:
    runs = in_turn({f"{name} {count}": run for (name, count), run in jobs.items()}, repeat)
    return {key: runs[f"{key[0]} {key[1]}"] for key in jobs}


def _session(bench: Bench, name: str) -> Any:
    return peer_session() if name == PEER else product_session(bench.sessions.server, bench.scratch)


def _query(session: Competitor, bench: Bench, name: str, count: int) -> Run:
    server = bench.sessions.server
    job = {"do": "query", "query": queries.aggregation(_FORMAT, ALL)}
    job |= source(name, server, bench.topics.filled(_FORMAT, count))
    with PeakMemory(session.pid) as peak:
        took = session.run(job, server_cpu=server.cpu_seconds)
    return took | {"memory": peak.mebibytes}


def _line(count: int, runs: list[Run]) -> dict[str, Any]:
    """Return a result line. The memory is the peak of all rounds, including the first."""
    peaks = {kind: max(run["memory"].get(kind, 0.0) for run in runs) for kind in ("java", "python", "all")}
    return line(count, runs[1:]) | {
        "peak_mebibytes": round(peaks["all"]),
        "peak_mebibytes_of_jvm": round(peaks["java"]),
        "peak_mebibytes_of_python": round(peaks["python"]),
    }


class PeakMemory:
    """The peak memory of a process and its children, sampled five times a second within the `with` block."""

    def __init__(self, root: int) -> None:
        self.mebibytes: dict[str, float] = {}
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            now = memory_below(self._root)
            for kind, taken in (now | {"all": sum(now.values())}).items():
                self.mebibytes[kind] = max(taken, self.mebibytes.get(kind, 0.0))
