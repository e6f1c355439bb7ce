"""A user's machine, and the wheel that users install."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT
from integration.package.machine import Machine

from pyspark_pulsar.standalone import LocalPulsar

TOOLS = ROOT / ".venv" / "wheels" / "bin" / "python"
"""What builds and checks wheels; `make test` puts it there."""


@pytest.fixture
def machine(pulsar: LocalPulsar, tmp_path: Path) -> Machine:
    return Machine(tmp_path, pulsar)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of this machine for users: the one that WHEEL names, else what `make wheel` builds and checks."""
    if "WHEEL" in os.environ:
        return Path(os.environ["WHEEL"])
    folder = tmp_path_factory.mktemp("wheel")
    for command in (["scripts/build_wheels.py", "--out", str(folder)], ["scripts/check_wheel.py"]):
        wheels = [] if command[1:] else [str(file) for file in folder.iterdir()]
        done = subprocess.run(
            [TOOLS, *command, *wheels], cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built
