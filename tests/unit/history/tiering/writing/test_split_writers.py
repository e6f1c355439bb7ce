"""Splits whose writing process is killed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pyspark_pulsar.errors import WriterKilled
from pyspark_pulsar.history.tiering.writing.split_writers import ProcessWriters


class Task:
    """A task that cannot be written; the process that unpickles it calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments
        self.split = type("Split", (), {"partition": "t", "start": "1:0", "end": "2:0"})

    def __reduce__(self) -> Any:
        return self._call


def killed() -> Any:
    return Task(os._exit, 9)


def waiting(file: Path) -> Any:
    return Task(subprocess.call, ["sh", "-c", f"until [ -e {file} ]; do sleep 0.05; done"])


def test_a_killed_process_fails_only_its_own_task(tmp_path: Path) -> None:
    writers = ProcessWriters(2)
    with ThreadPoolExecutor(1) as other_topic:
        other = other_topic.submit(writers.write, [waiting(tmp_path / "go")])
        with pytest.raises(WriterKilled, match=r"^t, from 1:0 up to 2:0: .*was killed.*fewer --processes"):
            writers.write([killed()])
        (tmp_path / "go").touch()
        with pytest.raises(AttributeError, match="'int' object has no attribute"):
            other.result(timeout=60)
    # Both places have a process again.
    for _ in range(3):
        with pytest.raises(AttributeError, match="'int' object has no attribute"):
            writers.write([waiting(tmp_path / "go")] * 2)
    writers.close()
