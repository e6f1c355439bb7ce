"""The recipes of docs/deployment.md are enough, where the `python3` of the machine lacks the package."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from fixtures.doc_pages import ROOT
from fixtures.spark_cluster import spark_cluster
from integration.official import await_true
from integration.package.machine import LOCAL, PROGRAM, SPARK, TASKS, Machine

CONNECT = ROOT / ".venv" / "connect"


def test_spark_submit(machine: Machine) -> None:
    machine.run("spark-submit", "recipe-submit", machine.home)
    machine.check()


def test_a_packed_environment_on_a_cluster(machine: Machine, tmp_path: Path) -> None:
    with spark_cluster(tmp_path) as cluster:
        machine.run(
            "standalone", "recipe-archives", machine.home,
            words={"spark://master:7077": cluster.url}, settings={**LOCAL, "spark.executor.memory": "512m"},
        )  # fmt: skip
    machine.check()
    for run in machine.runs():
        assert run.python.startswith("./environment/") == (TASKS in run.arguments), run


def test_a_server_of_spark_connect(machine: Machine) -> None:
    assert CONNECT.is_dir(), f"expected what Spark Connect needs in {CONNECT}; make test puts it there"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    binding = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    server = machine.start("connect", settings=LOCAL | binding)
    try:

        def listens() -> bool:
            assert server.poll() is None, machine.log.read_text()[-3000:]
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        await_true("the server of Spark Connect", listens, seconds=120)
        client = subprocess.run(
            [sys.executable, PROGRAM, "recipe-connect", machine.home, f"sc://127.0.0.1:{port}"],
            env={**os.environ, "PYTHONPATH": str(CONNECT)},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert client.returncode == 0, client.stderr[-2000:] + machine.log.read_text()[-3000:]
    finally:
        machine.end(server)
    machine.check()


def test_an_interpreter_without_the_package_is_named(machine: Machine) -> None:
    """Spark is not configured to use the interpreter that has the package, so it runs `python3`, with only
    PySpark itself.
    """
    (machine.home / "program.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "SparkSession.builder.getOrCreate().read.format('pulsar').options(topic='t').load()\n"
    )
    without_python = f"sed -i '/python /d' pulsar.conf\nexec {SPARK}/bin/spark-submit"
    program = machine.start("spark-submit", submit=without_python)
    try:
        assert program.wait(120) != 0
    finally:
        machine.end(program)
    text = "got python3, which reports: ModuleNotFoundError: No module named 'pyspark_pulsar'"
    assert text in machine.log.read_text()
