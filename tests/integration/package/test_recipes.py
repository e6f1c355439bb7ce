"""What `pyspark-pulsar catalog conf` prints is enough, where the `python3` of the machine lacks the package."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pyspark
import pytest
from fixtures.spark_cluster import spark_cluster
from integration.official import await_true

import pyspark_pulsar
from pyspark_pulsar.standalone import LocalPulsar

PROGRAM = Path(__file__).parents[2] / "programs" / "recipe.py"
CONNECT = Path(__file__).parents[3] / ".venv" / "connect"
SPARK = Path(pyspark.__file__).parent
LOCAL = (
    "spark.master local[2]\nspark.ui.enabled false\n"
    "spark.driver.host 127.0.0.1\nspark.driver.bindAddress 127.0.0.1\n"
)


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose `python3` has no packages. `interpreter` is the one that has them all.

    Both note what they are run for.
    """
    path = tmp_path / "bin"
    path.mkdir()
    base = Path(sys.base_prefix) / "bin" / "python3"
    (path / "python3").write_text(f'#!/bin/bash\necho "$@" >> {tmp_path}/bare\nexec {base} -S "$@"\n')
    interpreter = tmp_path / "interpreter"
    interpreter.write_text(f'#!/bin/bash\necho "$@" >> {tmp_path}/used\nexec {sys.executable} "$@"\n')
    for script in (path / "python3", interpreter):
        script.chmod(0o755)
    kept = {
        key: os.environ[key] for key in ("JDK_JAVA_OPTIONS", "JAVA_HOME", "HOME", "LANG") if key in os.environ
    }
    search = os.pathsep.join(
        [str(path), str(Path(shutil.which("java") or "java").parent), "/usr/bin", "/bin"]
    )
    return {**kept, "PATH": search, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}


def prepare(pulsar: LocalPulsar, tmp_path: Path) -> Path:
    """A file of what the command prints, and the options for the program."""
    urls = {"service.url": pulsar.service_url, "admin.url": pulsar.admin_url}
    (tmp_path / "options.json").write_text(json.dumps(urls))
    printed = subprocess.run(
        [sys.executable, "-m", "pyspark_pulsar.cli", "catalog", "conf", "--python", tmp_path / "interpreter",
         "--service-url", pulsar.service_url, "--admin-url", pulsar.admin_url],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    conf = tmp_path / "spark.conf"
    conf.write_text(printed.stdout + LOCAL)
    return conf


def check(tmp_path: Path) -> None:
    assert json.loads((tmp_path / "answer.json").read_text()) == [45, 10, 90]
    used = (tmp_path / "used").read_text()
    for purpose in (
        "pyspark_pulsar.catalog",
        "plan_data_source_read",
        "write_into_data_source",
        "python_streaming_source_runner",
        "pyspark.daemon pyspark.worker",
    ):
        assert purpose in used, used
    assert not (tmp_path / "bare").exists(), (tmp_path / "bare").read_text()


def test_spark_submit(pulsar: LocalPulsar, bare: dict[str, str], tmp_path: Path) -> None:
    command = [SPARK / "bin" / "spark-submit", "--properties-file", prepare(pulsar, tmp_path)]
    done = subprocess.run(
        [*command, PROGRAM, "recipe-submit", tmp_path],
        env=bare, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-20_000:]
    check(tmp_path)


def test_a_packed_environment_on_a_cluster(pulsar: LocalPulsar, bare: dict[str, str], tmp_path: Path) -> None:
    """Workers have nothing but Spark; `--archives` brings them an environment, as on YARN and Kubernetes."""
    conf = prepare(pulsar, tmp_path)
    lines = conf.read_text().splitlines(keepends=True)
    mine = ("spark.pyspark.python ", "spark.master ")
    conf.write_text("".join(line for line in lines if not line.startswith(mine)))
    archive = packed_environment(tmp_path)
    with spark_cluster(tmp_path) as cluster:
        command = [
            SPARK / "bin" / "spark-submit", "--properties-file", conf, "--master", cluster.url,
            "--archives", f"{archive}#environment", "--conf", "spark.executor.memory=512m",
            "--conf", "spark.pyspark.python=./environment/bin/python",
            "--conf", f"spark.pyspark.driver.python={tmp_path / 'interpreter'}",
        ]  # fmt: skip
        done = subprocess.run(
            [*command, PROGRAM, "recipe-archives", tmp_path],
            env=bare, capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-20_000:]
    on_executors = (tmp_path / "on_executors").read_text()
    assert "pyspark.daemon pyspark.worker" in on_executors
    assert "pyspark.daemon pyspark.worker" not in (tmp_path / "used").read_text()
    with (tmp_path / "used").open("a") as used:
        used.write(on_executors)
    check(tmp_path)


def packed_environment(tmp_path: Path) -> Path:
    """This package and what it needs beside Spark, as venv-pack packs an environment; its `python` notes what it is run
    for."""
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True, timeout=60)
    (site,) = home.glob("lib/python*/site-packages")
    for name in (
        "pyarrow",
        "google",
        "click",
        "rich",
        "tenacity",
        "urllib3",
        "markdown_it",
        "mdurl",
        "pygments",
    ):
        (site / name).symlink_to(Path(importlib.import_module(name).__path__[0]))
    (site / "pyspark_pulsar").symlink_to(Path(pyspark_pulsar.__path__[0]))
    python = home / "bin" / "python"
    target = python.resolve()
    python.unlink()
    python.write_text(
        f'#!/bin/bash\necho "$@" >> {tmp_path}/on_executors\nexec -a "$(dirname "$0")/python3" {target} "$@"\n'
    )
    python.chmod(0o755)
    archive = tmp_path / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=0, dereference=False) as packed:
        packed.add(home, ".")
    return archive


def test_a_server_of_spark_connect(pulsar: LocalPulsar, bare: dict[str, str], tmp_path: Path) -> None:
    assert CONNECT.is_dir(), f"expected what Spark Connect needs in {CONNECT}; make test puts it there"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [
        SPARK / "bin" / "spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--properties-file", prepare(pulsar, tmp_path), "--conf", f"spark.connect.grpc.binding.port={port}",
        "--conf", "spark.connect.grpc.binding.address=127.0.0.1", "spark-internal",
    ]  # fmt: skip
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=bare, stdout=output, stderr=output)
    try:

        def listens() -> bool:
            assert server.poll() is None, log.read_text()[-3000:]
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        await_true("the server of Spark Connect", listens, seconds=120)
        environment = {**os.environ, "PYTHONPATH": str(CONNECT)}
        done = subprocess.run(
            [sys.executable, PROGRAM, "recipe-connect", tmp_path, f"sc://127.0.0.1:{port}"],
            env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:] + log.read_text()[-3000:]
    finally:
        server.terminate()
        server.wait(60)
    check(tmp_path)


def test_an_interpreter_without_the_package_is_named(
    pulsar: LocalPulsar, bare: dict[str, str], tmp_path: Path
) -> None:
    """Nothing says which one has it, so `python3` is taken: PySpark's own program runs there, and no more."""
    conf = prepare(pulsar, tmp_path)
    conf.write_text("".join(line for line in conf.read_text().splitlines(True) if "python " not in line))
    program = tmp_path / "program.py"
    program.write_text(
        "from pyspark.sql import SparkSession\n"
        "SparkSession.builder.getOrCreate().read.format('pulsar').options(topic='t').load()\n"
    )
    done = subprocess.run(
        [SPARK / "bin" / "spark-submit", "--properties-file", conf, program],
        env=bare, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert (
        "got python3, which says: ModuleNotFoundError: No module named 'pyspark_pulsar'"
        in done.stdout + done.stderr
    )
