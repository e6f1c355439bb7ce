"""A platform that starts Spark itself, and whose users can only install a wheel."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from fixtures.doc_pages import ROOT
from integration.package.environment import link_requirements, make_environment
from integration.package.machine import Machine

NOTEBOOK = ROOT / "tests" / "programs" / "notebook.py"


def test_a_session_that_runs_already(machine: Machine, wheel: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel" / "bin" / "python"
    link_requirements(make_environment(tmp_path / "kernel"), distribution("pyspark-pulsar"))
    install = [sys.executable, "-m", "pip", "--python", kernel, "install", "--no-index", "--no-deps", wheel]
    done = subprocess.run(
        [kernel, NOTEBOOK, "wheel-alone", machine.home, *install],
        env=machine.variables() | {"PYSPARK_PYTHON": str(kernel)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-10_000:]
    assert json.loads((machine.home / "answer.json").read_text()) == ["DATA_SOURCE_NOT_FOUND", 45, 90]
