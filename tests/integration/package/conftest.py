"""A user's machine, and the wheel that users install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT
from integration.package.machine import Machine

from pyspark_pulsar.standalone import LocalPulsar


@pytest.fixture
def machine(pulsar: LocalPulsar, tmp_path: Path) -> Machine:
    return Machine(tmp_path, pulsar)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install .` builds in a clone."""
    folder = tmp_path_factory.mktemp("wheel")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--config-settings",
         "build-args=--locked", "--wheel-dir", folder, ROOT],
        env={**os.environ, "PATH": search}, capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built
