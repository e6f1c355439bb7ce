"""Planning costs with 3,000 topics and a year of ledgers, and the unit costs of `pyspark-pulsar size`.

    make bench        (or: python bench/sizing.py)

- calibration: CPU of decoding, encoding and planning, as `pyspark-pulsar size --calibrate` measures it.
- planning: the real discovery, planner, admission and admin client, in a driver process of its own. The cluster is a
  fake (bench/sizing_cluster.py). The measures of a case are CPU and memory of the driver, requests, bytes of answers,
  and splits.
- spark: Spark's own cost, with a real local Pulsar (bench/sizing_spark.py).

Each unit cost is the difference of two cases. The costs are written into
src/pyspark_pulsar/tools/sizing/default_costs.json.
No cost is computed from the plan of a year's last day, so this plan shows how well the costs predict. The fake cluster
shares the cores, so wall time is longer than with brokers on other machines. CPU is the driver's alone.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from competitor import Competitor, Measures
from run_report import arguments, new_report, write_report
from sizing_spark import measure_spark, spark_costs

from pyspark_pulsar.tools.sizing.calibration import measure_costs
from pyspark_pulsar.tools.sizing.costs import DEFAULTS, KINDS, Costs

_SESSION = (sys.executable, str(Path(__file__).parent / "sizing_session.py"))
_CLUSTER = (sys.executable, str(Path(__file__).parent / "sizing_cluster.py"))
_RESULTS = Path(__file__).parent / "results"
_COSTS = Path(__file__).parent.parent / "src" / "pyspark_pulsar" / "tools" / "sizing" / DEFAULTS
_PATTERN = {"topicsPattern": "persistent://company/events-.*/topic-.*"}
_MEBIBYTE = 2**20
_NEW_ENTRIES = 20


def main() -> None:
    given = _arguments()
    report = new_report(__file__)
    former = json.loads(given.result.read_text()) if given.result.exists() else {}
    parts: dict[str, Any] = {name: former.get(name, {}) for name in ("calibration", "planning", "spark")}
    wanted = set(given.only.split(",")) & set(parts)
    if "calibration" in wanted:
        parts["calibration"] = measure_costs(60.0)
    if "planning" in wanted:
        groups = given.cases.split(",")
        parts["planning"] |= _planning(given.topics, given.namespaces, given.days, groups)
    if "spark" in wanted:
        parts["spark"] = measure_spark(given.repeat)
    commands = former.get("commands", {}) | dict.fromkeys(sorted(wanted), report["command"])
    # The command of the earlier run that measured the other parts.
    report |= {
        "command": "; ".join(dict.fromkeys(commands.values())),
        "commands": commands,
        "topics": given.topics,
        "namespaces": given.namespaces,
        "days": given.days,
        **parts,
    }
    report["costs"] = _costs(parts)
    report["foretold"] = _foretold(parts["planning"], report["costs"])
    for each in report["foretold"]:
        print(each, flush=True)
    write_report(report, given.result)
    if given.result.resolve().parent == _RESULTS.resolve() and set(report["costs"]) == set(KINDS):
        told = {"machine": report["machine"], "when": report["when"], "costs": report["costs"]}
        _COSTS.write_text(json.dumps(told, indent=2) + "\n")


def _planning(topics: int, namespaces: int, days: int, groups: list[str]) -> dict[str, Measures]:
    """Measures by the name of the case, with the size of the cluster in each case."""
    measures: dict[str, Measures] = {}

    def add(name: str, measured: Measures, topics: int, ledgers: int) -> None:
        measures[name] = measured | {"topics": topics, "ledgers": topics * ledgers}
        print(f"{name:32} {measures[name]}", flush=True)

    year = 6 * days
    fewer = max(30, topics // 10)
    day = {"startingTimestamp": str(int((time.time() - 86_400) * 1000))}
    if "topics" in groups:
        with _cluster(topics=fewer // 10, namespaces=3, ledgers=1) as told:
            add("few topics", _one(told, "plan"), fewer // 10, 1)
        with _cluster(topics=topics, namespaces=namespaces, ledgers=1) as told:
            add("many topics", _one(told, "plan"), topics, 1)
            add("many topics, their schema", _one(told, "schema"), topics, 1)
            for name, measured in _stream(told, limited=True).items():
                add(f"stream, {name}", measured, topics, 1)
    if "ledgers" in groups:
        with _cluster(topics=fewer, namespaces=namespaces, ledgers=year) as told:
            for size in (1024, 128):
                options = {"maxBytesPerPartition": str(size * _MEBIBYTE)}
                add(f"many ledgers, splits of {size} MiB", _one(told, "plan", **options), fewer, year)
    if "lists" in groups:
        with _cluster(topics=fewer, namespaces=namespaces, ledgers=year) as told:
            add("many ledgers, their last day", _one(told, "plan", **day), fewer, year)
    if "year" in groups:
        with _cluster(topics=topics, namespaces=namespaces, ledgers=year) as told:
            add("a year, its last day", _one(told, "plan", **day), topics, year)
    if "stream" in groups:
        with _cluster(topics=topics, namespaces=namespaces, ledgers=year) as told:
            for name, measured in _stream(told, limited=False).items():
                add(f"a year, stream, {name}", measured, topics, year)
    return measures


def _one(told: dict[str, str], job: str, **options: str) -> Measures:
    with Competitor(_SESSION) as session:
        return _run(session, told, do=job, options={**_addresses(told), **_PATTERN, **options})


def _stream(told: dict[str, str], *, limited: bool) -> dict[str, Measures]:
    """Measure a stream from `latest`: the start, triggers with and without messages, and triggers with a limit."""
    options = {**_addresses(told), **_PATTERN, "lagIntervalMs": "86400000"}
    measures: dict[str, Measures] = {}
    with Competitor(_SESSION) as session:
        measures["start"] = _run(session, told, do="stream", options=options)
        for name in ("first news", "news"):
            _advance(told)
            measures[name] = _run(session, told, do="trigger")
        measures["no news"] = _run(session, told, do="trigger")
        if limited:
            _advance(told)
            half = int(measures["news"]["splits"]) * _NEW_ENTRIES * 10 // 2
            for name in ("half of the news by a limit", "the rest by a limit"):
                measures[name] = _run(session, told, do="trigger", rows=half)
        _run(session, told, do="stop")
    return measures


def _run(session: Competitor, told: dict[str, str], **job: Any) -> Measures:
    _counts(told)
    measured = session.run(job)
    counts = _counts(told)
    measured["requests"] = float(sum(number for number, _ in counts.values()))
    measured["answer_bytes"] = float(sum(size for _, size in counts.values()))
    measured |= {f"requests of {kind}": float(number) for kind, (number, _) in sorted(counts.items())}
    return {name: round(value, 4) for name, value in measured.items()}


def _addresses(told: dict[str, str]) -> dict[str, str]:
    return {"service.url": told["service_url"], "admin.url": told["admin_url"]}


def _counts(told: dict[str, str]) -> dict[str, list[int]]:
    with urllib.request.urlopen(f"{told['admin_url']}/bench/counts") as answer:
        return dict(json.load(answer))


def _advance(told: dict[str, str]) -> None:
    url = f"{told['admin_url']}/bench/advance?entries={_NEW_ENTRIES}"
    with urllib.request.urlopen(urllib.request.Request(url, method="POST")) as answer:
        answer.read()


@contextlib.contextmanager
def _cluster(**size: int) -> Iterator[dict[str, str]]:
    process = subprocess.Popen(
        [*_CLUSTER, json.dumps(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(30)


def _costs(parts: dict[str, Any]) -> dict[str, float]:
    """Return the unit costs of the measured parts."""
    costs = dict(parts["calibration"])
    if parts["spark"]:
        costs |= spark_costs(parts["spark"], Costs(parts["calibration"]))
    tables = json.loads((_RESULTS / "tier_scan.json").read_text())["speed"]
    one, six = (tables["queries"][f"{n} of 10 columns"]["measures"]["data source, columns"] for n in (1, 6))
    column = (six["cpu"] - one["cpu"]) / 5 / tables["rows"]
    costs["table.column"] = column
    costs["table.message"] = one["cpu"] / tables["rows"] - column
    costs["table.bytes"] = tables["table_bytes"] / tables["ledger_bytes"]
    if parts["planning"]:
        costs |= _costs_of_planning(parts["planning"])
    return {key: float(f"{costs[key]:.4g}") for key in KINDS if key in costs}


def _costs_of_planning(cases: dict[str, Measures]) -> dict[str, float]:
    few, many = cases["few topics"], cases["many topics"]
    large, small = (cases[f"many ledgers, splits of {size} MiB"] for size in (1024, 128))
    news, idle = cases["stream, news"], cases["stream, no news"]

    def memory(case: Measures) -> float:
        return case["peak_mebibytes"] * _MEBIBYTE

    lists, year = cases["many ledgers, their last day"], cases["a year, stream, news"]
    topic = _slope(few, many, "topics", "driver_cpu")
    # A stream stores more for each topic than a batch does.
    topic_bytes = (max(memory(many), memory(idle)) - memory(few)) / (many["topics"] - few["topics"])
    split = max(0.0, _slope(large, small, "splits", "driver_cpu"))
    split_bytes = max(0.0, (memory(small) - memory(large)) / (small["splits"] - large["splits"]))

    def cpu_of_ledgers(case: Measures) -> float:
        return max(0.0, case["driver_cpu"] - case["topics"] * topic - case["splits"] * split)

    def bytes_of_ledgers(case: Measures) -> float:
        others = memory(few) + case["topics"] * topic_bytes + case["splits"] * split_bytes
        return max(0.0, memory(case) - others)

    listed, listed_bytes = cpu_of_ledgers(lists), bytes_of_ledgers(lists)
    return {
        "plan.topic": topic,
        "plan.ledger": listed / lists["ledgers"],
        "plan.read": max(0.0, cpu_of_ledgers(large) - listed) / large["ledgers"],
        "plan.split": split,
        "trigger.topic": idle["driver_cpu"] / idle["topics"],
        "trigger.active": max(0.0, (news["driver_cpu"] - idle["driver_cpu"]) / news["splits"]),
        "trigger.ledger": max(0.0, (year["driver_cpu"] - news["driver_cpu"]) / year["ledgers"]),
        "memory.process": memory(few),
        "memory.topic": topic_bytes,
        "memory.ledger": listed_bytes / lists["ledgers"],
        "memory.read": max(0.0, bytes_of_ledgers(large) - listed_bytes) / large["ledgers"],
        "memory.split": split_bytes,
        "sent.split": small["sent_bytes_a_split"],
        "answers.ledger": large["answer_bytes"] / large["ledgers"],
        "requests.topic": large["requests"] / large["topics"],
        # The requests for an index and for the size of the data are counted in read.sources.offloaded, not measured.
        "objects.ledger": 2.0,
        "offset.topic": cases["stream, start"]["offset_bytes"] / cases["stream, start"]["topics"],
    }


def _slope(less: Measures, more: Measures, by: str, of: str) -> float:
    return (more[of] - less[of]) / (more[by] - less[by])


def _foretold(cases: dict[str, Measures], costs: dict[str, float]) -> list[dict[str, Any]]:
    """Compare predictions with measures, for cases from which no cost was computed."""
    told = []
    for name in ("a year, its last day",):
        if name not in cases or "plan.topic" not in costs:
            continue
        # The ledgers of a day, the ledger in which the day begins, and one for the clock slack.
        case = cases[name] | {"read": 8.0 * cases[name]["topics"]}
        cpu = (
            case["topics"] * costs["plan.topic"]
            + case["ledgers"] * costs["plan.ledger"]
            + case["read"] * costs["plan.read"]
            + case["splits"] * costs["plan.split"]
        )
        memory = (
            costs["memory.process"]
            + case["topics"] * costs["memory.topic"]
            + case["ledgers"] * costs["memory.ledger"]
            + case["read"] * costs["memory.read"]
            + case["splits"] * costs["memory.split"]
        )
        for what, foretold, got in (
            ("CPU seconds of the driver", cpu, case["driver_cpu"]),
            ("MiB of the driver", memory / _MEBIBYTE, case["peak_mebibytes"]),
        ):
            told.append({"case": name, "what": what, "foretold": round(foretold, 1), "got": round(got, 1)})
    return told


def _arguments() -> Any:
    parser = arguments(__doc__, "calibration,planning,spark", "sizing.json")
    parser.add_argument("--topics", type=int, default=3_000)
    parser.add_argument("--namespaces", type=int, default=50)
    parser.add_argument("--cases", default="topics,ledgers,lists,year,stream")
    parser.add_argument("--days", type=int, default=365)
    return parser.parse_args()


if __name__ == "__main__":
    main()
