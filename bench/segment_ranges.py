"""Costs of reading a time range: bytes received, CPU and duration.

The range is compared with the whole topic, and with the same range in a topic ten times as large.
"""

from dataclasses import dataclass
from typing import Any

from competitor import Competitor, Measures, medians
from segment_cluster import Servers, closed_ledgers, fill_ledgers, payloads

ENTRIES_PER_LEDGER = 25
_ROWS_PER_ENTRY = 1000
_VALUE_BYTES = 200
_LEDGER_SECONDS = 0.1
_LARGER = 10
# This is enough: entries are stored milliseconds after their publish time, and the first entry of a ledger a bit later.
# Here all servers share one clock. The default is 10 minutes, for clusters with many clocks.
_CLOCK_SLACK_MS = 80
_QUANTITIES = ("seconds", "own_cpu", "received_bytes", "broker_cpu", "bookies_cpu")


@dataclass(frozen=True)
class Window:
    """A range of publish times, in Unix milliseconds: [from_ms, before_ms)."""

    from_ms: int
    before_ms: int

    @property
    def options(self) -> dict[str, int]:
        return {
            "starting_timestamp": self.from_ms,
            "ending_timestamp": self.before_ms,
            "clock_slack_ms": _CLOCK_SLACK_MS,
        }


def measure_ranges(servers: Servers, ledgers: int, repeat: int) -> dict[str, Any]:
    servers.admin.create_namespace("public/ranges", 2, 2)
    values = payloads(_ROWS_PER_ENTRY, _VALUE_BYTES)
    jobs: dict[str, dict[str, Any]] = {}
    for size in (ledgers, ledgers * _LARGER):
        topic = f"persistent://public/ranges/t{size}"
        fill_ledgers(
            servers,
            topic,
            ledgers=size,
            entries=ENTRIES_PER_LEDGER,
            rows=_ROWS_PER_ENTRY,
            seconds=_LEDGER_SECONDS,
            values=values,
        )
        window = _middle(servers, topic, ledgers // 100)
        ranged = servers.read_job(topic, "bookie", **window.options) | {"do": "arrow"}
        if size == ledgers:
            jobs[f"all of {size} ledgers"] = servers.read_job(topic, "bookie") | {"do": "arrow"}
        jobs[f"range of {size} ledgers"] = ranged | {"rows": _rows_within(servers, topic, window)}
    return _report(_run(servers, jobs, repeat))


def _middle(servers: Servers, topic: str, ledgers: int) -> Window:
    """Return the time range of `ledgers` ledgers in the middle of the topic."""
    closed = [int(each["timestamp"]) for each in closed_ledgers(servers, topic)]
    middle = len(closed) // 2
    return Window(closed[middle], closed[middle + max(1, ledgers)])


def _rows_within(servers: Servers, topic: str, window: Window) -> int:
    """Count the rows in the window by the publish time of every row of the topic."""
    job = servers.read_job(topic, "bookie", columns=("__publishTime",)) | {"do": "count"}
    with Competitor() as reader:
        return int(reader.run(job | {"from_ms": window.from_ms, "before_ms": window.before_ms})["rows"])


def _run(servers: Servers, jobs: dict[str, dict[str, Any]], repeat: int) -> dict[str, Measures]:
    """Run all jobs. The first round does not count.

    The ranges are short, so each range is read five times as often as the whole topic.
    """
    runs: dict[str, list[Measures]] = {name: [] for name in jobs}
    with Competitor() as reader:
        for number in range(5 * repeat + 1):
            for name, job in jobs.items():
                if "rows" not in job and number > repeat:
                    continue
                took = reader.run(job, broker_cpu=servers.broker_cpu, bookies_cpu=servers.bookies_cpu)
                assert took["rows"] == job.get("rows", took["rows"]), (name, took, job)
                if number:
                    runs[name].append(took)
    return {name: medians(each) for name, each in runs.items()}


def _report(found: dict[str, Measures]) -> dict[str, Any]:
    whole, smaller, larger = found.values()
    of_whole = {each: _ratio(smaller[each], whole[each]) for each in _QUANTITIES}
    of_smaller = {each: _ratio(larger[each], smaller[each]) for each in _QUANTITIES}
    for name, took in found.items():
        print(
            f"{name:24} {took['rows']:10,.0f} rows {took['seconds'] * 1e3:9.1f} ms {took['own_cpu'] * 1e3:9.1f} ms CPU "
            f"{took['received_bytes'] / 1e6:9.2f} MB, servers' CPU {took['broker_cpu'] * 1e3:.0f} + "
            f"{took['bookies_cpu'] * 1e3:.0f} ms",
            flush=True,
        )
    print("range of whole:", of_whole, "\nrange of larger topic:", of_smaller, flush=True)
    judged = ("seconds", "own_cpu", "received_bytes")
    return {
        "clock_slack_ms": _CLOCK_SLACK_MS,
        "ledger_seconds": _LEDGER_SECONDS,
        "measures": {
            name: {each: round(took[each], 6) for each in ("rows", *_QUANTITIES)}
            for name, took in found.items()
        },
        "goals": [
            *_goals("range / whole", of_whole, judged, 0.05),
            *_goals("range of ten times as many ledgers / range", of_smaller, judged, 1.2),
        ],
        "server_cpu_ratios": {
            "range / whole": {each: of_whole[each] for each in ("broker_cpu", "bookies_cpu")},
            "larger / smaller": {each: of_smaller[each] for each in ("broker_cpu", "bookies_cpu")},
        },
    }


def _ratio(one: float, other: float) -> float | None:
    return round(one / other, 4) if other else None


def _goals(
    what: str, ratios: dict[str, float | None], judged: tuple[str, ...], goal: float
) -> list[dict[str, Any]]:
    return [
        {"what": f"{what}: {each}", "goal": goal, "got": got, "met": got is not None and got <= goal}
        for each in judged
        for got in [ratios[each]]
    ]
