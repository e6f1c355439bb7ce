"""Metrics, alert rules and dashboard of real queries in a real Prometheus."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
import yaml
from fixtures.prometheus import Prometheus, promtool, pushgateway
from integration.official import Admin, await_true
from integration.streams import Stream, finish, send_numbers
from prometheus_client import push_to_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar import PulsarProgressListener
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.tools.monitoring.shipped_files import ALERTS, DASHBOARD
from pyspark_pulsar.tools.standalone import LocalPulsar

HERE = Path(__file__).parent
SHIPPED = Path(str(files("pyspark_pulsar.tools.monitoring"))) / "shipped"
NO_LEDGER = bytes([0x7F]) + b"\xff" * 7
"""The id of the ledger that a driver requests from bookies, to check whether the bookies answer."""

PROGRAM = """
import sys
from pyspark.sql import SparkSession
from pyspark_pulsar import PulsarProgressListener, configure

url, topic, checkpoint, file = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = configure(builder, url).getOrCreate()
spark.streams.addListener(PulsarProgressListener(file))
read = spark.readStream.format("pulsar").options(**{"service.url": url, "topic": topic, "startingOffsets": "earliest"})
writing = read.load().writeStream.format("noop").queryName("nightly").option("checkpointLocation", checkpoint)
writing.trigger(availableNow=True).start().awaitTermination()
spark.stop()
"""

# The rules get times that a test can wait for: each pair is the shipped text and its replacement.
SOON = {
    "PulsarStreamBehind": [("> 600", ">= 0")],
    "PulsarStreamCannotKeepUp": [("[30m:1m]", "[5s:1s]"), ("> 60", ">= 0"), ("> 0.1", ">= 0")],
    "PulsarStreamSilent": [("> 300", "> 0")],
    "PulsarQueryFailed": [],
    "PulsarQueryKeepsFailing": [("> 2", "> 0")],
    "PulsarRunOverdue": [("> 93600", "> 0")],
    "PulsarReadsFallBack": [],
    "PulsarMetricsGone": [("offset 10m", "offset 5s")],
}


@dataclass
class Flag:
    """A switch that a test's sink checks before it continues."""

    up: bool = False


class FailingBookie:
    """A server in front of a bookie: it answers requests about existence, and closes the connection of
    readers.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            asked = connection.recv(1 << 16)
            if NO_LEDGER in asked:
                with socket.create_connection(self._target) as bookie:
                    bookie.sendall(asked)
                    connection.sendall(bookie.recv(1 << 16))


@pytest.fixture
def failing_bookie(pulsar: LocalPulsar) -> Iterator[dict[str, str]]:
    """Options with which a read from the bookie is planned, and fails."""
    with AdminClient(
        ReadOptions(service_url=pulsar.service_url, admin_url=pulsar.admin_url, topic="any")
    ) as admin:
        (bookie,) = admin.bookies.ids()
    host, _, port = bookie.rpartition(":")
    server = FailingBookie((host, int(port)))
    yield {"admin.url": pulsar.admin_url, "bookieAddresses": json.dumps({bookie: server.address})}
    server.close()


def test_the_rules_are_right() -> None:
    assert "8 rules found" in promtool("check", "rules", SHIPPED / ALERTS)
    assert "SUCCESS" in promtool("test", "rules", HERE / "alerts.test.yaml")


def soon(folder: Path) -> Path:
    """Write the rules with short times; the name of each gets the suffix `Soon`."""
    rules = yaml.safe_load((SHIPPED / ALERTS).read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == SOON.keys()
    for rule in rules:
        rule.pop("for", None)
        for former, new in SOON[rule["alert"]]:
            assert former in rule["expr"]
            rule["expr"] = rule["expr"].replace(former, new)
        rule["alert"] += "Soon"
    file = folder / "soon.yaml"
    file.write_text(json.dumps({"groups": [{"name": "soon", "rules": rules}]}))
    return file


class Queries:
    """Queries for the rules: one continues, one ends, one falls back, and one fails on request."""

    def __init__(
        self,
        spark: SparkSession,
        pulsar: LocalPulsar,
        stream: Stream,
        folder: Path,
        topic: str,
        failing_bookie: dict[str, str],
    ) -> None:
        self._spark, self._pulsar, self._stream = spark, pulsar, stream
        self._folder, self._topic, self._failing_bookie = folder, topic, failing_bookie
        self.may_fail = Flag()
        self.running: list[StreamingQuery] = []

    def start(self) -> None:
        read = self._stream(
            topic=self._topic, startingOffsets="earliest", **{"admin.url": self._pulsar.admin_url}
        )
        self.running.append(
            self._writing(read.selectExpr("value"), "copy")
            .format("pulsar")
            .options(**{"service.url": self._pulsar.service_url, "topic": f"{self._topic}-copy"})
            .start()
        )
        self.running.append(self._writing(read, "fails").foreachBatch(self._fail).start())
        self.once("run")
        self.once("falls-back", **self._failing_bookie)

    def once(self, name: str, **options: str) -> None:
        read = self._stream(topic=self._topic, startingOffsets="earliest", **options)
        writing = self._writing(read.selectExpr("value"), name).format("noop").trigger(availableNow=True)
        finish(writing.start(), 120)

    def _writing(self, frame: DataFrame, name: str) -> Any:
        return frame.writeStream.queryName(name).option("checkpointLocation", str(self._folder / name))

    def _fail(self, _: DataFrame, __: int) -> None:
        if self.may_fail.up:
            raise RuntimeError("as the test wants it")

    def stop(self) -> None:
        for query in self.running:
            query.stop()


@pytest.fixture
def queries(
    topic: str,
    tmp_path: Path,
    spark: SparkSession,
    pulsar: LocalPulsar,
    stream: Stream,
    official: official_client.Client,
    admin: Admin,
    failing_bookie: dict[str, str],
) -> Iterator[Queries]:
    """Return the queries, not started yet."""
    admin.create(topic)
    send_numbers(official, topic, range(300))
    admin.unload(topic)
    send_numbers(official, topic, range(300, 400))
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "500")
    made = Queries(spark, pulsar, stream, tmp_path, topic, failing_bookie)
    yield made
    made.stop()
    spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")


@pytest.fixture
def listener(tmp_path: Path, spark: SparkSession) -> Iterator[PulsarProgressListener]:
    made = PulsarProgressListener(tmp_path / "pulsar.prom", "127.0.0.1:0")
    spark.streams.addListener(made)
    yield made
    spark.streams.removeListener(made)
    made.close()


def expressions() -> dict[str, list[str]]:
    """Return the queries of each panel by its title, as Grafana would send them for all jobs and queries."""
    dashboard = json.loads((SHIPPED / DASHBOARD).read_text())
    found = {}
    for panel in dashboard["panels"]:
        texts = [target["expr"] for target in panel.get("targets", ())]
        for name, value in (("$job", ".*"), ("$query", ".*"), ("$__rate_interval", "10s")):
            texts = [text.replace(name, value) for text in texts]
        if texts:
            found[panel["title"]] = texts
    return found


def test_every_panel_and_every_alert_answers(
    topic: str,
    tmp_path: Path,
    official: official_client.Client,
    admin: Admin,
    failing_bookie: dict[str, str],
    queries: Queries,
    listener: PulsarProgressListener,
) -> None:
    assert listener.address is not None
    rules = [SHIPPED / ALERTS, soon(tmp_path)]
    with Prometheus(tmp_path, [("spark", listener.address)], rules) as prometheus:
        queries.start()

        def has(expression: str) -> Callable[[], bool]:
            return lambda: bool(prometheus.query(expression))

        await_true("the first scrape", has('pyspark_pulsar_epochs_aborted_total{query="fails"} == 0'), 60)
        await_true("rows that are read", has('pyspark_pulsar_rows_total{query="copy"} == 400'), 60)
        # Each counter grows while Prometheus looks on.
        await_true("a fallback", has('pyspark_pulsar_fallbacks_total{query="falls-back"} > 0'), 30)
        queries.may_fail.up = True
        for first in (400, 500):
            send_numbers(official, topic, range(first, first + 100))
            admin.unload(topic)
            queries.once("run")
            queries.once("falls-back", **failing_bookie)
        await_true("more rows", has('pyspark_pulsar_rows_total{query="copy"} == 600'), 60)
        await_true("a failure", has('pyspark_pulsar_epochs_aborted_total{query="fails"} == 1'), 60)
        for title, texts in expressions().items():
            for text in texts:
                await_true(f"an answer for {title}: {text}", has(text), 30)
        assert prometheus.label_values("query", "pyspark_pulsar_query_active") == [
            *("copy", "fails", "falls-back", "run"),
        ]

        def places() -> set[str]:
            read = prometheus.query("pyspark_pulsar_read_bytes_total > 0")
            return {each["metric"]["place"] for each in read}

        await_true("bytes from both places", lambda: places() == {"bookie", "broker"}, 30)
        for alert in set(SOON) - {"PulsarMetricsGone"}:
            await_true(alert, has(f'ALERTS{{alertname="{alert}Soon"}}'), 30)
        firing: set[str] = set()

        def fires() -> bool:
            true = prometheus.query('ALERTS{alertname!~".*Soon", alertstate="firing"}')
            firing.update(each["metric"]["alertname"] for each in true)
            return bool(firing)

        await_true("a rule as it is shipped", fires, 30)
        assert firing == {"PulsarQueryFailed"}, "nothing else is wrong"
        listener.close()
        gone = has('max_over_time(ALERTS{alertname="PulsarMetricsGoneSoon"}[1m])')
        await_true("that the endpoint is gone", gone, 30)
        assert len(prometheus.rules()) == 2 * len(SOON)
        assert {(rule["health"], rule.get("lastError", "")) for rule in prometheus.rules()} == {("ok", "")}


def test_the_file_is_valid_for_prometheus(
    queries: Queries, listener: PulsarProgressListener, tmp_path: Path
) -> None:
    queries.once("run")
    await_true("the end", lambda: "last_success" in (tmp_path / "pulsar.prom").read_text())
    promtool("check", "metrics", text=(tmp_path / "pulsar.prom").read_text())


def test_a_run_that_ends_pushes(queries: Queries, spark: SparkSession, tmp_path: Path) -> None:
    gateway = pushgateway(tmp_path)
    listener = PulsarProgressListener()
    spark.streams.addListener(listener)
    gateway.start()
    try:
        queries.once("run")
        ended = "pyspark_pulsar_last_success_timestamp_seconds"
        await_true("the end", lambda: any(each.name == ended and each.samples for each in listener.collect()))
        push_to_gateway(gateway.address, job="run", registry=listener)
        with Prometheus(tmp_path, [("pushgateway", gateway.address)], []) as prometheus:
            found: list[Any] = []
            await_true("a scrape", lambda: bool(found.extend(prometheus.query(ended)) or found))
        assert found[0]["metric"]["job"] == "run"
        assert found[0]["metric"]["query"] == "run"
    finally:
        spark.streams.removeListener(listener)
        gateway.stop()


def test_a_program_that_ends_leaves_its_numbers(
    topic: str, tmp_path: Path, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    """Two runs, each in a process of its own, which ends as soon as its session has stopped."""
    file = tmp_path / "pulsar.prom"
    for number in range(2):
        send_numbers(official, topic, range(100 * number, 100 * number + 100))
        given = [pulsar.service_url, topic, str(tmp_path / "checkpoint"), str(file)]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *given],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    lines = dict(line.rsplit(" ", 1) for line in file.read_text().splitlines() if not line.startswith("#"))
    (rows,) = [value for name, value in lines.items() if name.startswith("pyspark_pulsar_rows_total{")]
    assert float(rows) == 200
    (active,) = [value for name, value in lines.items() if name.startswith("pyspark_pulsar_query_active{")]
    assert float(active) == 0
    assert any(name.startswith("pyspark_pulsar_last_success_timestamp_seconds{") for name in lines)
