"""Thousands of small topics in one query: the costs of planning, a micro-batch, an idle query and a sink.

    make bench        (or: python bench/many_topics.py --topics 3000 --namespaces 50)

- plan: the first and the second plan of a batch whose topics all have messages.
- stream: the first trigger from `latest`, then micro-batches in which every topic has ten new messages. Also a minute
  without messages, of a trigger without an interval.
- memory: memory of Spark's JVM and of all Python processes, and connections to the broker, while the stream runs.
- catalog: SHOW TABLES in each namespace, and the description of one table.
- sink: two tasks write 30,000 rows, which name the topics in column `__topic`. The second write is to topics that the
  broker has loaded.

Spark runs in a process of its own; `cpu` is the CPU of Spark's JVM and all Python processes. `server` is the CPU of
Pulsar, which shares the cores. Goals apply to two cores.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pulsar as official_client
from competitor import Competitor, Measures, medians
from run_report import arguments, new_report, write_report
from stream_server import StreamServer, stream_server

_READER = (sys.executable, str(Path(__file__).parent / "many_topics_session.py"))
_GOALS = (
    # Each goal has a description, the measure, the quantity and its upper limit.
    ("driver CPU seconds of the first plan", "first plan", "driver_cpu", 5.0),
    ("wall seconds of the first trigger", "first trigger", "seconds", 15.0),
    ("client CPU seconds of a micro-batch", "micro-batch", "cpu", 10.0),
    ("server CPU seconds of a micro-batch", "micro-batch", "server", 15.0),
    ("wall seconds of the sink, warm", "sink, warm", "seconds", 10.0),
)
_ROWS_OF_THE_SINK = 30_000
_NEW_MESSAGES = 10


def main() -> None:
    given = _arguments()
    report = new_report(__file__)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch) / "pulsar") as server,
    ):
        topics = _make_topics(server, given.topics, given.namespaces)
        measures = _measure(server, Path(scratch), topics, given)
    report |= {"topics": len(topics), "namespaces": given.namespaces, "measures": measures}
    report["goals"] = [
        {
            "what": what,
            "goal": goal,
            "got": round(measures[name][number], 3),
            "met": measures[name][number] <= goal,
        }
        for what, name, number, goal in _GOALS
        if name in measures
    ]
    for goal in report["goals"]:
        print(goal, flush=True)
    write_report(report, given.result)


def _measure(
    server: StreamServer, scratch: Path, topics: list[str], given: argparse.Namespace
) -> dict[str, Measures]:
    told = {
        "service.url": server.service_url,
        "admin.url": server.admin_url,
        "topicsPattern": "persistent://public/many-.*/t.*",
    }
    measures: dict[str, Measures] = {}
    with Competitor(_READER) as session:

        def run(name: str, **job: Any) -> Measures:
            measured = session.run({"do": name, "options": told, **job}, server=server.cpu_seconds)
            print(f"{name:16} {measured}", flush=True)
            return measured

        run("start", folder=str(scratch))
        _produce(server, topics)
        measures["first plan"] = run("plan")
        measures["next plan"] = medians([run("plan") for _ in range(given.repeat)])
        measures["batch"] = medians([run("batch") for _ in range(given.repeat)])
        measures["first trigger"] = run("first trigger")
        rounds = []
        for _ in range(given.repeat):
            _produce(server, topics)
            rounds.append(run("micro-batch", rows=len(topics) * _NEW_MESSAGES))
        measures["micro-batch"] = medians(rounds)
        measures["memory"] = run("memory", port=int(server.service_url.rpartition(":")[2]))
        measures["catalog"] = medians([run("catalog") for _ in range(given.repeat)])
        measures["idle"] = run("idle", seconds=60)
        named = {"topics": topics, "rows": _ROWS_OF_THE_SINK}
        measures["sink, first"] = run("sink", **named)
        measures["sink, warm"] = medians([run("sink", **named) for _ in range(given.repeat)])
    return measures


def _make_topics(server: StreamServer, topics: int, namespaces: int) -> list[str]:
    admin = server.admin
    names = []
    for number in range(namespaces):
        admin.make_namespace(f"public/many-{number:02}")
    for number in range(topics):
        names.append(f"persistent://public/many-{number % namespaces:02}/t{number:04}")
        admin.create(names[-1])
    return names


def _produce(server: StreamServer, topics: list[str]) -> None:
    """Send ten messages to each topic, with producers for a hundred topics at a time."""
    client = official_client.Client(
        server.service_url, logger=official_client.ConsoleLogger(official_client.LoggerLevel.Error)
    )
    for start in range(0, len(topics), 100):
        producers = [client.create_producer(topic) for topic in topics[start : start + 100]]
        for producer in producers:
            for number in range(_NEW_MESSAGES):
                producer.send_async(str(number).encode(), lambda *_: None)
        for producer in producers:
            producer.flush()
            producer.close()
    client.close()
    time.sleep(2.0)


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, "", "many_topics.json")
    parser.add_argument("--topics", type=int, default=3_000)
    parser.add_argument("--namespaces", type=int, default=50)
    return parser.parse_args()


if __name__ == "__main__":
    main()
