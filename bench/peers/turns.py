"""Competitors that run in turn, and the medians of their measures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from process_use import load_average

Run = dict[str, Any]


def in_turn(jobs: Mapping[str, Callable[[], Run]], repeat: int) -> dict[str, list[Run]]:
    """Run the jobs in turn (A B C, A B C, ...), `repeat` times after a first round.

    The first round's runs are first in each list.
    """
    runs: dict[str, list[Run]] = {name: [] for name in jobs}
    for _ in range(repeat + 1):
        for name, run in jobs.items():
            runs[name].append(run())
    return runs


def measured(what: str, count: int, runs: Mapping[str, list[Run]]) -> dict[str, Any]:
    """Return a measure of the result file: medians of all rounds but the first, and the first round's time."""
    lines = {name: line(count, each[1:]) for name, each in runs.items()}
    for name, each in runs.items():
        lines[name]["first_seconds"] = round(each[0]["seconds"], 3)
    show(what, lines)
    return {"rows": count, "load": round(load_average(), 2), "competitors": lines}


def line(count: int, runs: list[Run]) -> dict[str, Any]:
    """Return medians. `seconds` and `cpu` are measures of the session's process and its descendants."""
    seconds = [run["seconds"] for run in runs]
    taken: dict[str, Any] = {
        "seconds": round(statistics.median(seconds), 3),
        "rows_per_second": round(count / statistics.median(seconds)),
        "cpu_microseconds_per_row": _per_row(count, runs, "cpu"),
        "server_cpu_microseconds_per_row": _per_row(count, runs, "server_cpu"),
        "seconds_of_rounds": [round(each, 3) for each in seconds],
    }
    if "trigger_seconds" in runs[0]:
        triggers = [run["trigger_seconds"] for run in runs]
        taken["trigger_seconds"] = round(statistics.median(triggers), 3)
        taken["rows_per_second_by_trigger"] = round(count / statistics.median(triggers))
        taken["trigger_seconds_of_rounds"] = [round(each, 3) for each in triggers]
    return taken


def _per_row(count: int, runs: list[Run], what: str) -> float:
    return round(1e6 * statistics.median(run[what] for run in runs) / count, 3)


def show(what: str, lines: Mapping[str, Mapping[str, Any]]) -> None:
    for name, taken in lines.items():
        print(
            f"{what:36} {name:34} {taken['seconds']:8.2f} s {taken['rows_per_second']:11,} rows/s "
            f"{taken['cpu_microseconds_per_row']:7.2f} us CPU/row",
            flush=True,
        )
