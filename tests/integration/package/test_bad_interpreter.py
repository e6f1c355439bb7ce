"""Python workers that run another interpreter, which has everything but this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pulsar as official_client

from pyspark_pulsar.tools.standalone import LocalPulsar

WORDS = ("PYSPARK_PYTHON", "pyspark-pulsar", "install")

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


def test_the_message_names_the_interpreter_and_what_to_set(
    topic: str,
    tmp_path: Path,
    pulsar: LocalPulsar,
    official: official_client.Client,
    bare_interpreter: Path,
    bare_workers: Path,
) -> None:
    producer = official.create_producer(topic)
    producer.send(b"x")
    producer.close()
    report = tmp_path / "report.json"
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER, encoding="utf-8")
    environment = {**os.environ, "PYSPARK_PYTHON": str(bare_workers)}
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
