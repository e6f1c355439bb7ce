"""Keeps the outcomes of the checks, and what they ran with, in a JSON file: one run for each server and PySpark."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import pyspark
import pytest

_FOLDER = "integration/servers/"
_REASON_CHARACTERS = 300
PASSED = "passed"


class Results:
    """A plugin of pytest. Puts this run into `file` when it ends, in the place of an earlier one of its kind."""

    def __init__(self, file: Path, version: str) -> None:
        self._file = file
        self._version = version
        self._checks: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if _FOLDER not in report.nodeid or (report.when != "call" and report.passed):
            return
        name = report.nodeid.rpartition("::test_")[2].replace("_", " ")
        self._checks[name] = PASSED if report.passed else _failed(report)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        # What was interrupted says nothing.
        if not self._checks or exitstatus not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            return
        run = {
            "pulsar": self._version,
            "spark": pyspark.__version__,
            "java": _java_version(),
            "python": platform.python_version(),
            "checks": self._checks,
        }
        known: list[dict[str, Any]] = json.loads(self._file.read_text()) if self._file.exists() else []
        kept = [each for each in known if (each["pulsar"], each["spark"]) != (run["pulsar"], run["spark"])]
        runs = sorted([*kept, run], key=lambda each: (each["pulsar"], each["spark"]))
        self._file.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _failed(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    reason = crash.message if crash is not None else str(report.longrepr)
    # The line in which the package speaks, where there is one; else the first.
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    told = next(
        (line for line in lines if re.match(r"(pyspark_pulsar\.)?[\w.]*\w+(Error|Failed)\b", line)), None
    )
    return (told or lines[0])[:_REASON_CHARACTERS]


def _java_version() -> str:
    shown = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "([^"]+)"', shown)
    assert found is not None, shown
    return found[1]
