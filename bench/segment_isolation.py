"""Effects of history reads on live traffic: the broker's CPU, and the latency of a tailing consumer."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from competitor import Competitor, Measures, medians
from segment_cluster import Servers, fill, payloads

_PROGRAM = Path(__file__).parent / "tail_latency.py"
_PER_SECOND = 200
_IDLE, _DIRECT, _BROKER = "idle", "past read from bookies", "past read from the broker"


class Tail:
    """A process with a producer and a consumer, which use a separate topic."""

    def __init__(self, servers: Servers) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, str(_PROGRAM), servers.cluster.service_url),
                *("persistent://public/isolation/tail", str(_PER_SECOND)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send_word(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def answer(self) -> Measures:
        assert self._process.stdout is not None
        return dict(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def measure_isolation(servers: Servers, rows: int, seconds: float, repeat: int) -> dict[str, Any]:
    """Measure all phases. The tailing consumer also runs in the idle phase.

    Planning is measured before the phases, so that a phase only reads history.
    """
    servers.admin.create_namespace("public/isolation", 2, 2)
    topic = "persistent://public/isolation/t"
    fill(servers, topic, rows, payloads(5000, 1024), partitions=4, batched=True)
    tail = Tail(servers)
    phases: dict[str, list[Measures]] = {_IDLE: [], _DIRECT: [], _BROKER: []}
    planning: list[float] = []
    with Competitor() as direct, Competitor() as broker:
        planned = direct.run(
            servers.read_job(topic, "bookie") | {"do": "plan"}, broker_cpu=servers.broker_cpu
        )
        planning.append(planned["broker_cpu"])
        broker.run(servers.read_job(topic, "broker") | {"do": "plan"})
        readers = {_IDLE: None, _DIRECT: direct, _BROKER: broker}
        for number in range(repeat + 1):
            for name, reader in readers.items():
                took = _phase(servers, tail, reader, seconds)
                if number:  # The first round warms up the servers.
                    phases[name].append(took)
    tail.close()
    return _report({name: medians(each) for name, each in phases.items()}, planned["broker_cpu"])


def _phase(servers: Servers, tail: Tail, reader: Competitor | None, seconds: float) -> Measures:
    time.sleep(2)  # Wait until the previous phase's work (flushes, garbage collection) ends.
    if reader is not None:
        reader.start({"do": "read planned", "seconds": seconds + 1})
        time.sleep(0.5)
    tail.send_word("begin")
    broker, bookies, begin = servers.broker_cpu(), servers.bookies_cpu(), time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - begin
    used = {
        "broker_cores": (servers.broker_cpu() - broker) / passed,
        "bookies_cores": (servers.bookies_cpu() - bookies) / passed,
    }
    tail.send_word("end")
    took = reader.finish() if reader is not None else {"rows": 0.0, "seconds": seconds}
    return {**tail.answer(), **used, "rows_per_second": took["rows"] / took["seconds"]}


def _report(found: dict[str, Measures], planning: float) -> dict[str, Any]:
    for name, took in found.items():
        print(
            f"{name:26} broker {took['broker_cores']:.3f} cores, bookies {took['bookies_cores']:.3f} cores, tail "
            f"p50 {took['p50_ms']:.2f} p99 {took['p99_ms']:.2f} max {took['max_ms']:.1f} ms, "
            f"{took['rows_per_second']:,.0f} rows/s",
            flush=True,
        )
    got = round(found[_DIRECT]["broker_cores"] / found[_IDLE]["broker_cores"], 3)
    return {
        "tail_messages_per_second": _PER_SECOND,
        "measures": {
            name: {key: round(value, 4) for key, value in took.items()} for name, took in found.items()
        },
        "broker_cpu_seconds_of_planning_once": round(planning, 3),
        "goals": [
            {
                "what": "broker's CPU, direct read / idle",
                "goal": 1.1,
                "got": got,
                "met": got <= 1.1,
            }
        ],
    }
