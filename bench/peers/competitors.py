"""Who takes part, each in a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyspark
import queries
from competitor import Competitor
from fixtures.maven_libraries import maven_libraries
from stream_server import StreamServer

from pyspark_pulsar.session.configure import catalog_jar

PRODUCT: Final = "this package"
BROKER: Final = "this package, through the broker"
PEER: Final = "pulsar-spark"
READY_ROWS: Final = "ready rows, as rows"
READY_COLUMNS: Final = "ready rows, as columns"
PARQUET: Final = "Spark's own scan of Parquet"

_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[1]
_PEER_SPARK: Final = _ROOT / ".venv" / "peer-spark"
_READY_CLASS: Final = "org.pysparkpulsar.source.ReadyColumns"
NOT_OF_PULSAR: Final = (READY_ROWS, READY_COLUMNS, PARQUET)

Job = dict[str, Any]


@dataclass(frozen=True)
class Sessions:
    """Of this package, with all sources on its own Spark, and of the other connector."""

    server: StreamServer
    product: Competitor
    peer: Competitor
    versions: Mapping[str, str]

    def session(self, name: str) -> Competitor:
        return self.peer if name == PEER else self.product

    def run(self, name: str, job: Job) -> dict[str, Any]:
        return self.session(name).run(job, server_cpu=self.server.cpu_seconds)


@contextlib.contextmanager
def sessions(server: StreamServer, scratch: Path) -> Iterator[Sessions]:
    """Both are started, and warm as far as a query without any source makes them so."""
    with product_session(server, scratch) as (product, own), peer_session() as (peer, others):
        versions = {
            "spark of this package": own,
            "spark of pulsar-spark": others,
            "pulsar-spark": _connector().stem.rpartition("-")[2],
            "server": server.home.name,
        }
        yield Sessions(server, product, peer, versions)


@contextlib.contextmanager
def product_session(server: StreamServer, scratch: Path) -> Iterator[tuple[Competitor, str]]:
    """And Spark's version."""
    catalog = [server.service_url, server.admin_url]
    # For the source of ready rows, which Spark's processes import.
    with Competitor(_session({"PYTHONPATH": str(_HERE)})) as session:
        yield session, _started(session, {"jars": str(ready_jar(scratch)), "catalog": catalog})


@contextlib.contextmanager
def peer_session() -> Iterator[tuple[Competitor, str]]:
    """And Spark's version."""
    if not (_PEER_SPARK / "pyspark").exists():
        raise SystemExit(
            f"expected PySpark 3.5 in {_PEER_SPARK}, got none; run make bench-peers, which puts it there"
        )
    with Competitor(_session({"PYTHONPATH": str(_PEER_SPARK)})) as session:
        yield session, _started(session, {"jars": str(_connector())})


def _connector() -> Path:
    """The jar of the other connector."""
    (jar,) = maven_libraries(_HERE / "connector" / "pom.xml").glob("*.jar")
    return jar


def _session(variables: Mapping[str, str]) -> tuple[str, ...]:
    named = [f"{name}={value}" for name, value in variables.items()]
    return ("env", "-u", "SPARK_HOME", *named, sys.executable, str(_HERE / "session.py"))


def _started(session: Competitor, job: Job) -> str:
    return str(session.run({"do": "start", **job})["version"])


def source(name: str, server: StreamServer, topic: str, **options: str) -> Job:
    """What a job of a session says of where it reads from."""
    told = {"service.url": server.service_url, "topic": topic, "startingOffsets": "earliest", **options}
    if name != BROKER:
        told["admin.url"] = server.admin_url
    return {"format": "pulsar", "options": told}


def ready_source(name: str, value_format: str, count: int, which: str) -> Job:
    """By Spark alone nothing is asked for columns, so they are told."""
    options = {"rows": str(count), "valueFormat": value_format}
    if name == READY_COLUMNS:
        return {"format": _READY_CLASS, "options": options}
    columns = ",".join(queries.columns(value_format, which))
    return {"format": "ready", "options": options | {"columns": columns}}


def ready_jar(scratch: Path) -> Path:
    """Compiled against the jar of this package."""
    jar = scratch / "ready-columns.jar"
    if jar.exists():
        return jar
    classes = scratch / "ready-columns"
    path = os.pathsep.join([str(catalog_jar()), str(Path(pyspark.__file__).parent / "jars" / "*")])
    command = ["javac", "--release", "17", "-proc:none", "-nowarn", "-d", str(classes), "-classpath", path]
    subprocess.run([*command, str(_HERE / "java" / "ReadyColumns.java")], check=True)
    with zipfile.ZipFile(jar, "w") as archive:
        for each in classes.rglob("*.class"):
            archive.write(each, each.relative_to(classes))
    return jar
