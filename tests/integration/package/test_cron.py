"""The recipe of docs/cookbook-operations.md for streams that a scheduler starts, run unchanged."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT
from fixtures.fix_spark import ReadTopic
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

_PAGE = ROOT / "docs" / "cookbook-operations.md"
_BLOCK = re.compile(r"^<!-- run: cron -->\n```bash\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Job:
    """The recipe in a folder of its own. `run` returns its exit code and its standard error."""

    def __init__(self, folder: Path, service_url: str, topic: str) -> None:
        self.folder = folder
        shutil.copy(ROOT / "examples" / "orders_by_cron.py", folder)
        (found,) = _BLOCK.finditer(_PAGE.read_text())
        text = found["text"].replace("pulsar://broker:6650", service_url).replace("/jobs/", f"{folder}/")
        text = text.replace(" orders orders-copy ", f" {topic} {topic}-copy ")
        self.text = re.sub(r"\bpython (?=orders)", f"{sys.executable} ", text)
        assert self.text.count(topic) == 2
        assert sys.executable in self.text

    def run(self) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", self.text], cwd=self.folder, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr


@pytest.fixture
def job(tmp_path: Path, pulsar: LocalPulsar, topic: str) -> Job:
    return Job(tmp_path, pulsar.service_url, topic)


def test_the_exit_code_of_a_run_reports_its_result(
    job: Job, spark: SparkSession, pulsar: LocalPulsar, topic: str, read_topic: ReadTopic
) -> None:
    code, said = job.run()
    assert code == 1
    assert "TopicNotFoundError" in said

    rows = spark.range(50).write.format("pulsar").option("service.url", pulsar.service_url)
    rows.option("topic", topic).mode("append").save()
    with (job.folder / "orders.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert job.run() == (75, "")
    assert not (job.folder / "checkpoint").exists()

    code, said = job.run()
    assert code == 0, said[-3000:]
    assert sorted(row.id for row in read_topic(f"{topic}-copy").collect()) == list(range(50))
