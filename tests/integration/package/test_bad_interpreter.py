"""Python workers that run another interpreter, which has everything but this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pulsar as official_client
import pytest

from pyspark_pulsar.standalone import LocalPulsar

WORDS = ("PYSPARK_PYTHON", "pyspark-pulsar", "install")

# Spark plans a query in Python processes of the same PYSPARK_PYTHON (pyspark.sql.worker.*); only those that run
# tasks (pyspark.worker) get the bare interpreter, as on a cluster whose nodes differ from the driver's machine.
WRAPPER = """#!{full}
import os
import sys
from pathlib import Path

def lacks_package(folder):
    return not any(Path(folder).glob("pyspark_pulsar*"))

python = {full!r}
if "pyspark.worker" in sys.argv:
    python = {bare!r}
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(lacks_package, folders))
os.execv(python, [python, *sys.argv[1:]])
"""

DRIVER = """
import json
import sys

from pyspark.sql import SparkSession

import pyspark_pulsar

url, topic, report = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
options = {"service.url": url, "topic": topic}
actions = {
    "check_workers": lambda: pyspark_pulsar.check_workers(spark),
    "register": lambda: pyspark_pulsar.register(spark),
    "read": lambda: spark.read.format("pulsar").options(**options).load().collect(),
    "write": lambda: spark.range(1).selectExpr("cast('x' as binary) as value").write.format("pulsar")
    .options(**options).mode("append").save(),
}
found = {}
for name, action in actions.items():
    try:
        action()
        found[name] = ["nothing raised", ""]
    except Exception as fault:
        found[name] = [type(fault).__name__, str(fault)]
with open(report, "w") as file:
    json.dump(found, file)
spark.stop()
"""


@pytest.fixture
def bare_interpreter(tmp_path: Path) -> Path:
    """A virtual environment with all packages of this one but pyspark-pulsar."""
    folder = tmp_path / "bare"
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for each in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not each.name.startswith("pyspark_pulsar") and not (packages / each.name).exists():
            (packages / each.name).symlink_to(each)
    return folder / "bin" / "python"


def test_the_message_names_the_interpreter_and_what_to_set(
    topic: str, tmp_path: Path, pulsar: LocalPulsar, official: official_client.Client, bare_interpreter: Path
) -> None:
    producer = official.create_producer(topic)
    producer.send(b"x")
    producer.close()
    wrapper = tmp_path / "python-of-the-workers"
    wrapper.write_text(WRAPPER.format(full=sys.executable, bare=str(bare_interpreter)), encoding="utf-8")
    wrapper.chmod(0o755)
    report = tmp_path / "report.json"
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER, encoding="utf-8")
    environment = {**os.environ, "PYSPARK_PYTHON": str(wrapper)}
    environment.pop(
        "PYSPARK_DRIVER_PYTHON", None
    )  # Where it is set, Spark runs a data source's tasks in it too.
    done = subprocess.run(
        [sys.executable, str(driver), pulsar.service_url, topic, str(report)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text(encoding="utf-8"))
    for name in ("check_workers", "register"):
        assert found[name][0] == "InterpreterError", found[name]
    for name, (_, text) in found.items():
        for word in (*WORDS, str(bare_interpreter)):
            assert word in text, (name, text)
