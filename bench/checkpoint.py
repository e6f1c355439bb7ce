"""Checkpoints in Pulsar against a local folder and a local S3 server.

    make bench        (or: python bench/checkpoint.py --only epoch --epochs 20 --repeat 3)

- epoch: the duration of a micro-batch of 100,000 rows for 100,000 keys in 4 partitions. The state store is RocksDB with
  changelog, format 2.
- restart: a query with 500 MB of state starts again in a new process: from start() to the end of the query's first
  micro-batch.
- partitions: the duration of a micro-batch with 200 partitions of state on two executors.

All locations run in turn, each in a process of its own, `--repeat` times. The file of results holds medians in
milliseconds and their ratios. Hadoop's Java code reads the folder, as pip's PySpark has no native library. `memory` is
a folder on a file system in memory: it shows the time that Spark itself needs. Hadoop's S3A writes to the S3 server of
moto, which stores objects in memory. All servers share the cores: read the ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from run_report import arguments, new_report, write_report
from stream_server import stream_server

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fixtures.cluster import object_store
from fixtures.maven_libraries import maven_libraries
from fixtures.spark_cluster import spark_cluster

from pyspark_pulsar.tools.standalone.settings import choose_port

_WARM_UP = 2
_SECONDS = 3600
_MEGABYTE = 1_000_000
_VALUE_BYTES = 1024
_PULSAR, _FOLDER, _MEMORY, _S3 = "pulsar", "folder", "memory", "s3"


@dataclass
class Places:
    """The possible locations of a checkpoint: each location's path prefix and Spark settings."""

    service_url: str
    paths: dict[str, str]
    conf: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, place: str, checkpoint: str, **query: Any) -> dict[str, Any]:
        conf = {"spark.driver.memory": "3g", "spark.driver.host": "127.0.0.1"}
        conf |= self.conf.get(place, {}) | query.pop("conf", {})
        setting = {
            "service_url": self.service_url,
            "checkpoint": f"{self.paths[place]}/{checkpoint}",
            "conf": conf,
        }
        command = [
            sys.executable,
            str(Path(__file__).parent / "checkpoint_query.py"),
            json.dumps(setting | query),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=_SECONDS, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    given = _arguments()
    report = new_report(__file__)
    with contextlib.ExitStack() as running:
        scratch = Path(running.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        server = running.enter_context(stream_server(scratch / "pulsar"))
        memory = running.enter_context(
            tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True)
        )
        paths = {
            _PULSAR: "pulsar+checkpoint://public/default",
            _FOLDER: f"file://{scratch}/folder",
            _MEMORY: f"file://{memory}",
        }
        chosen = given.places.split(",")
        places = Places(server.service_url, {name: path for name, path in paths.items() if name in chosen})
        if _S3 in chosen:
            running.enter_context(_with_s3(places, scratch))
        sections = {"epoch": _epoch, "restart": _restart, "partitions": _partitions}
        for section in given.only.split(","):
            report[section] = sections[section](places, given, scratch)
            print(json.dumps({section: report[section]}, indent=2), flush=True)
    report["goals"] = list(_goals(report))
    write_report(report, given.result)


def _epoch(places: Places, given: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    del scratch
    query = {"master": "local[2]", "epochs": given.epochs + _WARM_UP, "value_bytes": 0}
    query |= {"rows": given.rows, "keys": given.rows}
    return _in_turn(places, given, list(places.paths), 4, query)


def _partitions(places: Places, given: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    with spark_cluster(scratch) as cluster:
        query = {"master": cluster.url, "epochs": given.epochs + _WARM_UP, "value_bytes": 0}
        query |= {"rows": given.rows, "keys": given.rows}
        return _in_turn(places, given, [_PULSAR, _FOLDER], given.partitions, query)


def _in_turn(
    places: Places, given: argparse.Namespace, names: list[str], partitions: int, query: dict[str, Any]
) -> dict[str, Any]:
    """Return median durations of micro-batches and of their parts in Spark's progress, without the warm-up."""
    found: dict[str, list[dict[str, int]]] = {name: [] for name in names}
    conf = {"spark.sql.shuffle.partitions": str(partitions), "spark.executor.memory": "700m"}
    for _ in range(given.repeat):
        for name in names:
            ran = places.run(name, uuid.uuid4().hex, conf=conf, **query)
            found[name] += ran["epochs"][_WARM_UP:]
    parts = ("triggerExecution", "addBatch", "walCommit", "commitOffsets")
    return {
        name: {part: statistics.median(epoch.get(part, 0) for epoch in epochs) for part in parts}
        for name, epochs in found.items()
    }


def _restart(places: Places, given: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    del scratch
    rows = given.state_mb * _MEGABYTE // _VALUE_BYTES
    # Without a changelog each micro-batch stores all new files of RocksDB, which the next start reads.
    conf = {
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    }
    query = {"master": "local[2]", "value_bytes": _VALUE_BYTES, "rows": rows, "keys": rows, "conf": conf}
    seconds: dict[str, list[float]] = {name: [] for name in (_PULSAR, _FOLDER)}
    checkpoints = {name: uuid.uuid4().hex for name in seconds}
    for name, checkpoint in checkpoints.items():
        places.run(name, checkpoint, epochs=1, **query)
    query |= {"rows": 1000}
    for _ in range(given.repeat):
        for name, checkpoint in checkpoints.items():
            seconds[name].append(places.run(name, checkpoint, epochs=1, **query)["first_seconds"])
    return {name: {"first_ms": 1000 * statistics.median(times)} for name, times in seconds.items()}


@contextlib.contextmanager
def _with_s3(places: Places, scratch: Path) -> Iterator[None]:
    port = choose_port(None, None)
    server = object_store.object_store(port, scratch / "s3.log")
    server.start()
    try:
        endpoint = f"http://127.0.0.1:{port}"
        object_store.create_bucket(endpoint)
        jars = sorted(maven_libraries(Path(__file__).parent / "s3a" / "pom.xml").glob("*.jar"))
        places.paths[_S3] = f"s3a://{object_store.BUCKET}"
        places.conf[_S3] = {
            "spark.jars": ",".join(map(str, jars)),
            "spark.hadoop.fs.s3a.endpoint": endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": object_store.ACCESS_KEY,
            "spark.hadoop.fs.s3a.secret.key": object_store.SECRET_KEY,
        }
        yield
    finally:
        server.kill()


def _goals(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    goals = (
        ("epoch", "triggerExecution", _FOLDER, 1.0),
        ("epoch", "triggerExecution", _S3, 0.5),
        ("restart", "first_ms", _FOLDER, 1.5),
        ("partitions", "triggerExecution", _FOLDER, 1.5),
    )
    for section, part, other, goal in goals:
        if other in report.get(section, {}):
            got = report[section][_PULSAR][part] / report[section][other][part]
            what = f"{section}, {part}: Pulsar over {other}"
            yield {"what": what, "goal": goal, "got": round(got, 3), "met": got <= goal}


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, "epoch,restart,partitions", "checkpoint.json")
    parser.add_argument("--places", default="pulsar,folder,memory,s3")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--state-mb", type=int, default=500)
    parser.add_argument("--partitions", type=int, default=200)
    return parser.parse_args()


if __name__ == "__main__":
    main()
