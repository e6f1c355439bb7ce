"""Errors of this package as a user sees them, from failing queries in real sessions: its own text is first
and last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from integration.official import ONE_RECORD, Admin

from pyspark_pulsar.tools.standalone import LocalPulsar

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests" / "programs" / "failing_queries.py"
CONNECT = ROOT / ".venv" / "connect"

WORDS = {
    "batch, planned": "did you mean 'startingOffsets'",
    "batch, planned late": "got 999999:0",
    "batch, in a task": "DecodeError: topic ",
    "stream, planned": "did you mean 'startingOffsets'",
    "stream, started": "did you mean 'startingOffsets'",
    "stream, in a task": "DecodeError: topic ",
    "write, planned": "unknown option 'zzz'",
    "write, overwriting": 'expected mode("append")',
    "write, in a task": "TopicNotFoundError: topic persistent://public/nowhere/t",
    "sink, in a task": "TopicNotFoundError: topic persistent://public/nowhere/t",
}
OF_A_CATALOG = {
    "sql, in a task": "DecodeError: topic ",
    "sql, a statement": "setting 'admin.url' is missing",
}
# The words twice, and the lines of the program: what was called, and what called it.
MOST_LINES = 12


@pytest.fixture
def spoilt(topic: str, official: official_client.Client, admin: Admin) -> str:
    """A topic of records with a message that is none."""
    admin.create(topic)
    admin.register(topic, "JSON", ONE_RECORD)
    producer = official.create_producer(topic)
    producer.send(b'{"id": 1}')
    producer.send(b'{"id": oops')
    producer.close()
    return topic


def run(
    how: str, service_url: str, topic: str, folder: Path, **variables: str
) -> tuple[list[dict[str, Any]], str]:
    """Return the program's report on each query, and the standard error after its last line."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, **variables}
    if how == "connect":
        assert CONNECT.is_dir(), f"expected what Spark Connect needs in {CONNECT}; make test puts it there"
        environment["PYTHONPATH"] = ":".join(filter(None, [str(CONNECT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, PROGRAM, how, service_url, topic],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return told, done.stderr.partition("UNCAUGHT\n")[2]


def shown_errors(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("how", ["configured", "plain", "connect"])
def test_words_first_and_last(how: str, spoilt: str, pulsar: LocalPulsar, tmp_path: Path) -> None:
    told, uncaught = run(how, pulsar.service_url, spoilt, tmp_path)
    by_query = {each["query"]: each for each in told}
    wanted = {**WORDS, **(OF_A_CATALOG if how != "plain" else {})}
    for query, words in wanted.items():
        lines = shown_errors(by_query[query]["shown"])
        assert words in lines[0], (query, lines)
        assert words in lines[-1], (query, lines)
        assert len(lines) <= MOST_LINES, (query, lines)
        assert words in by_query[query]["text"], query
        # Nothing of the files of this package or of Spark's worker.
        assert "pyspark_pulsar/" not in by_query[query]["text"], by_query[query]["text"]
    lines = shown_errors(uncaught)
    assert "DecodeError: topic " in lines[-1]
    assert "pyspark_pulsar/" not in uncaught


def test_the_log_follows_the_level_of_the_session(spoilt: str, pulsar: LocalPulsar, tmp_path: Path) -> None:
    levels = ("INFO", "ERROR", "WARN")
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "programs" / "log_levels.py", pulsar.service_url, spoilt, *levels],
        cwd=tmp_path, env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    parts = done.stderr.split("LEVEL ")
    ours = {
        part.split()[0]: {
            line.split()[2]
            for line in part.splitlines()
            # Another process may write the last line of a query after the next query's first line.
            if " pyspark_pulsar." in line and "has read all messages of its topics" not in line
        }
        for part in parts[1:]
    }
    # INFO comes from the driver's process, WARN from workers.
    assert ours == {"INFO": {"INFO", "WARN"}, "ERROR": set(), "WARN": {"WARN"}, "END": set()}, done.stderr
