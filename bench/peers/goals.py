"""What this package was to reach, beside what it has reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from competitors import PEER, PRODUCT, READY_COLUMNS
from queries import ALL, ONE, VALUES
from small_topics import MEASURE as SMALL_TOPICS

Measures = dict[str, Any]

_RATE, _BY_TRIGGER = "rows_per_second", "rows_per_second_by_trigger"
_FORMATS: Final = ("json", "avro")
# Which columns: how many times as fast as the other connector, at least, and which part of ready rows.
_BATCH: Final = {VALUES: (5.0, 0.75), ALL: (5.0, 0.75), ONE: (8.0, None)}
_BYTES: Final = 3.0
_BY_TRIGGER_AT_LEAST: Final = 4.0
_WITH_START: Final = {2_000_000: 2.0, 10_000_000: 4.0}
_TIMES_THE_SECONDS, _TIMES_THE_MEMORY = 10.5, 1.1
_LATENCY: Final = 0.4
_SMALL_TOPICS_SECONDS: Final = 2.0


def goals(measures: Measures) -> list[dict[str, Any]]:
    """Of those measures that were taken."""
    found = [*_batch(measures.get("batch", {})), *_catch_up(measures.get("catch_up", {}))]
    found += [*_tenfold(measures.get("tenfold")), *_latency(measures.get("latency", {}))]
    small = measures.get("small_topics", {}).get(SMALL_TOPICS)
    if small:
        seconds = small["competitors"][PRODUCT]["seconds"]
        found.append(_at_most(f"{SMALL_TOPICS}, seconds", _SMALL_TOPICS_SECONDS, seconds))
    return found


def _batch(cells: Measures) -> Iterator[dict[str, Any]]:
    for value_format in _FORMATS:
        for which, (times, part) in _BATCH.items():
            cell = cells.get(f"{value_format}, {which}")
            if cell is None:
                continue
            what = f"batch {value_format}, {which}"
            yield _at_least(f"{what}: times {PEER}", times, _ratio(cell, PEER, _RATE))
            if part is not None:
                yield _at_least(f"{what}: of {READY_COLUMNS}", part, _ratio(cell, READY_COLUMNS, _RATE))
    if f"bytes, {ALL}" in cells:
        times = _ratio(cells[f"bytes, {ALL}"], PEER, _RATE)
        yield _at_least(f"batch bytes, {ALL}: times {PEER}", _BYTES, times)


def _catch_up(cells: Measures) -> Iterator[dict[str, Any]]:
    for name, cell in cells.items():
        by_trigger = _ratio(cell, PEER, _BY_TRIGGER)
        yield _at_least(f"catch-up {name}, by the trigger: times {PEER}", _BY_TRIGGER_AT_LEAST, by_trigger)
        if cell["rows"] in _WITH_START:
            times = _WITH_START[cell["rows"]]
            yield _at_least(
                f"catch-up {name}, with the start: times {PEER}", times, _ratio(cell, PEER, _RATE)
            )


def _tenfold(measure: Measures | None) -> Iterator[dict[str, Any]]:
    if measure is None:
        return
    own = measure["competitors"][PRODUCT]
    yield _at_most("ten times the data: times the seconds", _TIMES_THE_SECONDS, own["times_the_seconds"])
    yield _at_most("ten times the data: times the memory", _TIMES_THE_MEMORY, own["times_the_memory"])


def _latency(rates: Measures) -> Iterator[dict[str, Any]]:
    for rate, measure in rates.items():
        own, others = (measure["competitors"][name] for name in (PRODUCT, PEER))
        for quantile in ("p50", "p99"):
            part = round(own[f"{quantile}_ms"] / others[f"{quantile}_ms"], 2)
            yield _at_most(f"latency {quantile} at {int(rate):,} messages/s: of {PEER}", _LATENCY, part)


def _ratio(cell: Measures, whom: str, rate: str) -> float:
    own, others = (cell["competitors"][name][rate] for name in (PRODUCT, whom))
    return round(own / others, 2)


def _at_least(what: str, goal: float, got: float) -> dict[str, Any]:
    return {"what": what, "goal": goal, "is": "at least", "got": got, "met": got >= goal}


def _at_most(what: str, goal: float, got: float) -> dict[str, Any]:
    return {"what": what, "goal": goal, "is": "at most", "got": got, "met": got <= goal}
