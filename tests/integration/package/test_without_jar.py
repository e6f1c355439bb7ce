"""A session without the jar of this package: batches and streams work, and what Spark lacks is refused in our words."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from fixtures.doc_pages import ROOT

from pyspark_pulsar.spark.read_limits import SPARK_ASKS_FOR_LIMITS
from pyspark_pulsar.tools.standalone import LocalPulsar

PROGRAM = ROOT / "tests" / "programs" / "without_jar.py"


@pytest.fixture(scope="module")
def results(pulsar: LocalPulsar, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return the program's results and refusals."""
    topic, folder = f"public/default/without-jar-{os.getpid()}", tmp_path_factory.mktemp("without-jar")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), pulsar.service_url, topic, str(folder)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable}, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_a_batch_is_written_and_read(results: dict[str, object]) -> None:
    assert results["batch"] == list(range(40))


def test_a_stream_continues_where_it_was_stopped(results: dict[str, object]) -> None:
    assert results["stream"] == list(range(120))


def test_features_that_spark_lacks_are_refused(results: dict[str, object]) -> None:
    refused = {key: str(text) for key, text in results.items() if key.startswith("refused")}
    if SPARK_ASKS_FOR_LIMITS:
        assert refused == {"refused limit": ""}
        return
    wrapped = "triggerAvailableNowWrapper.enabled: expected false with Spark 4.1"
    for key, says in {
        "refused limit": "option 'maxRecordsPerTrigger' is 7: expected no limit of a micro-batch with Spark 4.1",
        "refused wrapper": wrapped,
        "refused again": wrapped,
    }.items():
        assert says in refused[key]
        assert "pyspark_pulsar.configure" in refused[key]
