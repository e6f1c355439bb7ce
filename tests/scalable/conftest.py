"""A server of Pulsar 5.0.0-M1, put together from its libraries, and the client of Pulsar 5, which writes its topics."""

from __future__ import annotations

import json
import subprocess
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

_PROGRAM = Path(__file__).parent.parent / "java" / "scalable"
_VERSION = "5.0.0-M1"
_LEAST_CPU = "-XX:TieredStopAtLevel=1"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    config = {"scalableTopicAutoScaleEnabled": "false"}
    with LocalPulsar(version=_VERSION, data=tmp_path_factory.mktemp("data"), config=config) as started:
        yield started


class ScalableTopic:
    """A scalable topic of its own, which the REST API splits and merges and the Java client of Pulsar 5 writes."""

    def __init__(self, server: LocalPulsar, classes: Path) -> None:
        self._path = f"public/default/orders-{uuid.uuid4().hex[:8]}"
        self.name = f"topic://{self._path}"
        self._server = server
        self._command = [
            "java",
            _LEAST_CPU,
            "-Xmx256m",
            "-Dlog4j2.level=OFF",
            "-cp",
            f"{classes}:{server.home}/lib/*",
        ]
        self._producer: subprocess.Popen[str] | None = None
        self._call("PUT", "?numInitialSegments=2", {})

    def _call(self, method: str, path: str = "", body: Any = "") -> Any:
        request = urllib.request.Request(
            f"{self._server.admin_url}/admin/v2/scalable/{self._path}{path}",
            data=None if method == "GET" else json.dumps(body).encode() if body != "" else b"",
            method=method,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def split(self, segment: int) -> None:
        self._call("POST", f"/split/{segment}")

    def merge(self, one: int, other: int) -> None:
        self._call("POST", f"/merge/{one}/{other}")

    def segments(self) -> dict[int, str]:
        """The state of each, by id."""
        return {int(number): each["state"] for number, each in self._call("GET")["segments"].items()}

    def write(self, *commands: str) -> None:
        """See tests/java/scalable/ScalableProducer.java."""
        if self._producer is None:
            arguments = ["ScalableProducer", self._server.service_url, self.name]
            self._producer = subprocess.Popen(
                [*self._command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
            )
            self._expect("> ready")
        assert self._producer.stdin is not None
        for command in commands:
            self._producer.stdin.write(f"{command}\n")
            self._producer.stdin.flush()
            self._expect("> done")

    def send(self, *rows: tuple[str, str]) -> None:
        self.write(*(f"send {key} {value}" for key, value in rows))

    def _expect(self, answer: str) -> None:
        assert self._producer is not None
        assert self._producer.stdout is not None
        line = self._producer.stdout.readline()
        while line and not line.startswith("> "):
            line = self._producer.stdout.readline()
        assert line.strip() == answer

    def close(self) -> None:
        if self._producer is not None:
            self._producer.communicate(timeout=60)


@pytest.fixture(scope="session")
def classes(server: LocalPulsar, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The producer, compiled."""
    folder = tmp_path_factory.mktemp("classes")
    sources = [str(source) for source in _PROGRAM.glob("*.java")]
    subprocess.run(
        ["javac", "-cp", f"{server.home}/lib/*", "-d", str(folder), *sources], check=True, timeout=120
    )
    return folder


@pytest.fixture
def topic(server: LocalPulsar, classes: Path) -> Iterator[ScalableTopic]:
    made = ScalableTopic(server, classes)
    yield made
    made.close()


Options = Callable[..., dict[str, str]]


@pytest.fixture
def options(server: LocalPulsar, topic: ScalableTopic) -> Options:
    """`options(**others)` of a read of the topic."""

    def of(**others: str) -> dict[str, str]:
        return {
            "service.url": server.service_url,
            "admin.url": server.admin_url,
            "topic": topic.name,
            **others,
        }

    return of


@pytest.fixture
def read(spark: SparkSession, options: Options) -> Callable[..., DataFrame]:
    """`read(**others)`: a batch DataFrame of the topic."""
    return lambda **others: spark.read.format("pulsar").options(**options(**others)).load()
