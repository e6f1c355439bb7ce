"""A task hands its counts over where the jar waits for them, and nothing happens where it does not."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyspark_pulsar.spark.task_context import TaskContext, report_counts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    monkeypatch.setattr(TaskContext, "get", lambda: SimpleNamespace(taskAttemptId=lambda: 7))
    return tmp_path


def test_counts_are_written_to_the_waiting_file(folder: Path) -> None:
    file = folder / "pyspark-pulsar-7.counts"
    file.touch()
    report_counts({"readBytes.broker": 3})
    report_counts({"fallbacks.broker": 1})
    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        {"readBytes.broker": 3},
        {"fallbacks.broker": 1},
    ]


def test_no_one_waits(folder: Path) -> None:
    report_counts({"readBytes.broker": 3})
    assert not list(folder.iterdir())


def test_without_a_spark_task_nothing_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyspark-pulsar-7.counts").touch()
    monkeypatch.setattr(TaskContext, "get", lambda: None)
    report_counts({"readBytes.broker": 3})
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    report_counts({"readBytes.broker": 3})
    assert not (folder / "pyspark-pulsar-7.counts").read_text()
