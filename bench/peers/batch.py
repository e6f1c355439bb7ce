"""Batch reads: aggregations and the noop sink."""

from __future__ import annotations

from functools import partial
from typing import Any

import queries
from benchmark import Bench
from competitors import (
    BROKER,
    NOT_OF_PULSAR,
    PARQUET,
    PEER,
    PRODUCT,
    READY_COLUMNS,
    READY_ROWS,
    Job,
    ready_source,
    source,
)
from queries import ALL, ONE, VALUES
from turns import Run, in_turn, measured

_CELLS = (
    ("json", VALUES), ("json", ALL), ("json", ONE), ("avro", VALUES), ("avro", ALL), ("avro", ONE), ("bytes", ALL),
)  # fmt: skip


def warm_up_batch(bench: Bench) -> None:
    for value_format, which in _CELLS:
        for name, job in _aggregation_jobs(bench, value_format, which).items():
            bench.sessions.run(name, job)


def measure_batch(bench: Bench) -> dict[str, Any]:
    """Measure each format with each choice of columns. All competitors return the same answer."""
    return {
        f"{value_format}, {which}": _aggregation(bench, value_format, which) for value_format, which in _CELLS
    }


def _aggregation(bench: Bench, value_format: str, which: str) -> dict[str, Any]:
    what = f"{value_format}, {which}"
    jobs = _aggregation_jobs(bench, value_format, which)
    runs = in_turn({name: partial(bench.sessions.run, name, job) for name, job in jobs.items()}, bench.repeat)
    for number in range(bench.repeat + 1):
        answers = {name: _comparable_answer(name, each[number]) for name, each in runs.items()}
        queries.check_answers(what, answers, bench.rows)
    return measured(what, bench.rows, runs) | {
        "query": queries.aggregation(value_format, which),
        "answers": "equal",
        "answer": runs[PEER][0]["answer"],
    }


def _aggregation_jobs(bench: Bench, value_format: str, which: str) -> dict[str, Job]:
    """Return the jobs by competitor, in the order of their turns."""
    names = [PEER, PRODUCT, *([BROKER] if which == ALL else []), READY_ROWS, READY_COLUMNS, PARQUET]
    query = {"do": "query", "query": queries.aggregation(value_format, which)}
    return {name: query | _source(bench, name, value_format, which) for name in names}


def _comparable_answer(name: str, run: Run) -> dict[str, Any]:
    hidden = queries.PUBLISHED if name in NOT_OF_PULSAR else None
    return {key: value for key, value in run["answer"].items() if key != hidden}


def _source(bench: Bench, name: str, value_format: str, which: str) -> Job:
    if name == PARQUET:
        return {"format": "parquet", "options": {}, "paths": [bench.topics.parquet(value_format, bench.rows)]}
    if name in NOT_OF_PULSAR:
        return ready_source(name, value_format, bench.rows, which)
    return source(name, bench.sessions.server, bench.topics.filled(value_format, bench.rows))


def measure_noop(bench: Bench) -> dict[str, Any]:
    """Read all columns of the JSON topic into the sink that drops rows.

    The sink accepts rows, so Spark converts columns to rows. The sink returns no answer; the measure `batch` compares
    the answers of these reads.
    """
    names = [PEER, PRODUCT, READY_ROWS, READY_COLUMNS]
    jobs = {name: {"do": "noop"} | _source(bench, name, "json", ALL) for name in names}
    runs = in_turn({name: partial(bench.sessions.run, name, job) for name, job in jobs.items()}, bench.repeat)
    return {"json, all columns": measured("noop sink, json, all columns", bench.rows, runs)}
