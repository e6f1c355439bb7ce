"""Rows per second and CPU per row of reading segments from bookies, against the official client and the broker."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from competitor import Competitor, Measures, medians
from segment_cluster import Servers, fill, payloads

PARTITIONS = 4
OFFICIAL, BOOKIE = "official Reader", "bookies, to Arrow"


@dataclass(frozen=True)
class Topic:
    """A case with its topic and the layout of the ledgers on bookies."""

    case: str
    name: str
    batched: bool
    value_bytes: int
    ensemble: int
    goal: float

    @property
    def full_name(self) -> str:
        return f"persistent://public/{self.name}/t"


TOPICS = (
    Topic(
        "batches of 1000, 100 B, ensemble 2", "batched-2", batched=True, value_bytes=100, ensemble=2, goal=8.0
    ),
    Topic(
        "batches of 1000, 100 B, ensemble 3", "batched-3", batched=True, value_bytes=100, ensemble=3, goal=8.0
    ),
    Topic(
        "batches of 1000, 1 KiB, ensemble 2", "large-2", batched=True, value_bytes=1024, ensemble=2, goal=8.0
    ),
    Topic("unbatched, 100 B, ensemble 2", "single-2", batched=False, value_bytes=100, ensemble=2, goal=3.0),
    Topic("unbatched, 100 B, ensemble 3", "single-3", batched=False, value_bytes=100, ensemble=3, goal=3.0),
)


def measure_speed(servers: Servers, batched_rows: int, single_rows: int, repeat: int) -> dict[str, Any]:
    """Return each case's medians, ratios and goals."""
    report = {}
    for topic in TOPICS:
        values = payloads(5000, topic.value_bytes)
        rows = batched_rows if topic.batched else single_rows
        servers.admin.create_namespace(f"public/{topic.name}", topic.ensemble, 2)
        fill(servers, topic.full_name, rows, values, partitions=PARTITIONS, batched=topic.batched)
        runs = run_case(servers, topic, rows, repeat)
        report[topic.case] = case_report(topic, rows, runs)
    return report


def run_case(servers: Servers, topic: Topic, rows: int, repeat: int) -> dict[str, list[Measures]]:
    """Run the competitors in turn, each in a separate process. The first round does not count."""
    jobs = _jobs(servers, topic, rows)
    runs: dict[str, list[Measures]] = {name: [] for name in jobs}
    with Competitor() as official, Competitor() as plain, Competitor() as spark:
        for number in range(repeat + 1):
            for name, job in jobs.items():
                who = {"official": official, "spark": spark}.get(str(job["do"]), plain)
                took = who.run(job, broker_cpu=servers.broker_cpu, bookies_cpu=servers.bookies_cpu)
                assert took["rows"] == rows, (name, took, rows)
                if number:
                    runs[name].append(took)
    return runs


def _jobs(servers: Servers, topic: Topic, rows: int) -> dict[str, dict[str, Any]]:
    broker = servers.read_job(topic.full_name, "broker") | {"rows": rows}
    bookie = servers.read_job(topic.full_name, "bookie") | {"rows": rows}
    in_spark = {"do": "spark", "spark_options": {"admin.url": servers.cluster.admin_url}}
    from_broker = in_spark["spark_options"] | {"readFrom": "broker"}  # type: ignore[operator]
    from_bookie = in_spark["spark_options"] | {"readFrom": "bookie"}  # type: ignore[operator]
    return {
        OFFICIAL: broker | {"do": "official", "queue": 20_000},
        "broker, to Arrow": broker | {"do": "arrow"},
        BOOKIE: bookie | {"do": "arrow"},
        "broker, in Spark": broker | in_spark | {"spark_options": from_broker},
        "bookies, in Spark": bookie | in_spark | {"spark_options": from_bookie},
    }


def case_report(topic: Topic, rows: int, runs: Mapping[str, list[Measures]]) -> dict[str, Any]:
    lines: dict[str, dict[str, float]] = {}
    for name, each in runs.items():
        took = medians(each)
        lines[name] = {
            "rows": rows,
            "seconds": round(took["seconds"], 3),
            "rows_per_second": round(rows / took["seconds"]),
            "cpu_microseconds_per_row": round(1e6 * took["cpu"] / rows, 3),
            "broker_cpu_microseconds_per_row": round(1e6 * took["broker_cpu"] / rows, 3),
            "bookies_cpu_microseconds_per_row": round(1e6 * took["bookies_cpu"] / rows, 3),
        }
    for line in lines.values():
        line["times_as_fast_as_official"] = round(
            line["rows_per_second"] / lines[OFFICIAL]["rows_per_second"], 2
        )
        line["cpu_of_official"] = round(
            line["cpu_microseconds_per_row"] / lines[OFFICIAL]["cpu_microseconds_per_row"], 3
        )
    for name, line in lines.items():
        print(
            f"{topic.case:38} {name:18} {line['rows_per_second']:10,.0f} rows/s "
            f"{line['times_as_fast_as_official']:6.2f}x {line['cpu_microseconds_per_row']:7.2f} us CPU/row, servers "
            f"{line['broker_cpu_microseconds_per_row']:.2f} + {line['bookies_cpu_microseconds_per_row']:.2f}",
            flush=True,
        )
    return {"measures": lines, "goals": _goals(topic, lines[BOOKIE])}


def _goals(topic: Topic, bookie: Mapping[str, float]) -> list[dict[str, Any]]:
    fast, cpu = bookie["times_as_fast_as_official"], bookie["cpu_of_official"]
    goals = [{"what": "rows/s against official", "goal": topic.goal, "got": fast, "met": fast >= topic.goal}]
    if topic.batched:
        goals.append({"what": "CPU per row of official's", "goal": 0.2, "got": cpu, "met": cpu <= 0.2})
    return goals
