"""A user's machine, and the wheel that users install."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT
from integration.package.machine import Machine

from pyspark_pulsar.tools.standalone import LocalPulsar

TOOLS = ROOT / ".venv" / "wheels" / "bin" / "python"
"""The interpreter that builds and checks wheels. `make test` creates it."""


# Spark plans a query in Python processes of the same PYSPARK_PYTHON (pyspark.sql.worker.*). Only the
# processes that run tasks (pyspark.worker) get the bare interpreter, as on a cluster whose nodes differ from
# the driver's machine.
WRAPPER = """#!{full}
import os
import sys
from pathlib import Path

def lacks_package(folder):
    return not any(Path(folder).glob("pyspark_pulsar*"))

python = {full!r}
if "pyspark.worker" in sys.argv:
    python = {bare!r}
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(lacks_package, folders))
os.execv(python, [python, *sys.argv[1:]])
"""


@pytest.fixture
def machine(pulsar: LocalPulsar, tmp_path: Path) -> Machine:
    return Machine(tmp_path, pulsar)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel for users of this machine: the one that WHEEL names, or one built and checked as `make
    wheel` does.
    """
    if "WHEEL" in os.environ:
        return Path(os.environ["WHEEL"])
    folder = tmp_path_factory.mktemp("wheel")
    # Nothing is measured here, and an optimized build needs many times longer. `make wheel` builds releases.
    quickly = {"CARGO_PROFILE_WHEEL_OPT_LEVEL": "0", "CARGO_PROFILE_WHEEL_LTO": "off"}
    for command in (["scripts/build_wheels.py", "--out", str(folder)], ["scripts/check_wheel.py"]):
        wheels = [] if command[1:] else [str(file) for file in folder.iterdir()]
        done = subprocess.run(
            [TOOLS, *command, *wheels], cwd=ROOT, env=os.environ | quickly,
            capture_output=True, text=True, timeout=1500, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def bare_interpreter(tmp_path: Path) -> Path:
    """A virtual environment with all packages of this one but pyspark-pulsar."""
    folder = tmp_path / "bare"
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for each in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not each.name.startswith("pyspark_pulsar") and not (packages / each.name).exists():
            (packages / each.name).symlink_to(each)
    return folder / "bin" / "python"


@pytest.fixture
def bare_workers(tmp_path: Path, bare_interpreter: Path) -> Path:
    """Return a program for PYSPARK_PYTHON: tasks run in the bare interpreter, everything else in this one."""
    wrapper = tmp_path / "python-of-the-workers"
    wrapper.write_text(WRAPPER.format(full=sys.executable, bare=str(bare_interpreter)), encoding="utf-8")
    wrapper.chmod(0o755)
    return wrapper
