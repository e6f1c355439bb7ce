"""Streams that catch up by Trigger.AvailableNow, all columns to the noop sink: warm, and first in a session."""

from __future__ import annotations

from functools import partial
from typing import Any

import queries
import rows
from benchmark import Bench
from competitors import (
    BROKER,
    NOT_OF_PULSAR,
    PEER,
    PRODUCT,
    READY_COLUMNS,
    READY_ROWS,
    Job,
    peer_session,
    product_session,
    ready_source,
    source,
)
from queries import ALL, PUBLISHED
from turns import Run, in_turn, line, measured, show

_FORMATS = ("json", "avro")


def warm_up_catch_up(bench: Bench) -> None:
    """Run all jobs with the smallest number of rows."""
    for value_format in _FORMATS:
        for name, job in _jobs(bench, value_format, min(bench.catch_up_rows)).items():
            bench.sessions.run(name, job)


def measure_catch_up(bench: Bench) -> dict[str, Any]:
    """Measure by format and number of rows. `seconds` include the start of the query, `trigger_seconds` do not."""
    found = {}
    for value_format in _FORMATS:
        for count in bench.catch_up_rows:
            found[f"{value_format}, {count}"] = _warm(bench, value_format, count)
    return found


def measure_cold_catch_up(bench: Bench) -> dict[str, Any]:
    """Measure the first query of a new session, for the smallest number of rows."""
    count = min(bench.catch_up_rows)
    return {f"{value_format}, {count}": _cold(bench, value_format, count) for value_format in _FORMATS}


def _warm(bench: Bench, value_format: str, count: int) -> dict[str, Any]:
    what = f"catch-up, {value_format}, {count:,}"
    jobs = _jobs(bench, value_format, count)
    _check(bench, what, jobs, value_format, count)
    runs = in_turn({name: partial(_run, bench, name, job, count) for name, job in jobs.items()}, bench.repeat)
    return measured(what, count, runs) | {"answers": "equal"}


def _jobs(bench: Bench, value_format: str, count: int) -> dict[str, Job]:
    """Return the jobs by competitor, in the order of their turns."""
    names = [PEER, PRODUCT, BROKER, READY_ROWS, READY_COLUMNS]
    return {name: _job(bench, name, value_format, count) for name in names}


def _run(bench: Bench, name: str, job: Job, count: int) -> Run:
    took = bench.sessions.run(name, job)
    assert took["rows"] == count, (name, took)
    return took


def _check(bench: Bench, what: str, jobs: dict[str, Job], value_format: str, count: int) -> None:
    """Compare the answers in a separate run without timing, because the sums cost time."""
    observed = queries.aggregates(value_format, ALL)
    answers = {}
    for name, job in jobs.items():
        answer = bench.sessions.run(name, job | {"observed": observed})["answer"]
        answers[name] = {
            key: value for key, value in answer.items() if key != PUBLISHED or name not in NOT_OF_PULSAR
        }
    queries.check_answers(what, answers, count)


def _job(bench: Bench, name: str, value_format: str, count: int) -> Job:
    job = {"do": "catch up", "columns": list(rows.columns(value_format))}
    if name in NOT_OF_PULSAR:
        return job | ready_source(name, value_format, count, ALL)
    return job | source(name, bench.sessions.server, bench.topics.filled(value_format, count))


def _cold(bench: Bench, value_format: str, count: int) -> dict[str, Any]:
    runs: dict[str, list[Run]] = {PEER: [], PRODUCT: []}
    server = bench.sessions.server
    for _ in range(bench.repeat):
        for name, each in runs.items():
            started = peer_session() if name == PEER else product_session(server, bench.scratch)
            with started as (session, _version):
                took = session.run(_job(bench, name, value_format, count), server_cpu=server.cpu_seconds)
            assert took["rows"] == count, (name, took)
            each.append(took)
    lines = {name: line(count, each) for name, each in runs.items()}
    show(f"cold catch-up, {value_format}", lines)
    return {"rows": count, "competitors": lines}
