"""Run kernel calls of the wheel for aarch64 under an emulator: `emulate_aarch64.py ROOT WHEEL`.

scripts/debian_root.sh creates the folder ROOT from qemu-user, `python3.13:arm64` and `libstdc++6:arm64`. The calls are
the unit tests of golden entries and of encoding. These tests decode values of every schema type that Java wrote, and
encode values of every schema type. The exit code is the exit code of pytest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PYTHON = "3.13"
_NEEDED = (
    "pyarrow",
    "protobuf",
    "click",
    "fastavro",
    "iniconfig",
    "packaging",
    "pluggy",
    "pygments",
    "pytest",
    "urllib3",
)
_TESTS = ("tests/unit/codec/test_golden.py", "tests/unit/codec/test_encode.py")


def main() -> int:
    root, wheel = (Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder) / "needed.txt"
        pinned.write_text(_pinned())
        for requirement in ((str(wheel),), ("--require-hashes", "--requirement", str(pinned))):
            _install(folder, requirement)
        command = [
            root / "usr" / "bin" / "qemu-aarch64",
            "-L",
            root,
            root / "usr" / "bin" / f"python{_PYTHON}",
        ]
        command += ["-m", "pytest", "--noconftest", "-p", "no:cacheprovider", "-q", *_TESTS]
        search = os.pathsep.join([folder, str(ROOT / "tests")])
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": search}, check=False)
    return done.returncode


def _pinned() -> str:
    """Return the lines of requirements/dev.txt for the needed packages, with their hashes."""
    text = (ROOT / "requirements" / "dev.txt").read_text()
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)
    return "".join(block for block in blocks if block.partition("==")[0] in _NEEDED)


def _install(folder: str, requirement: tuple[str, ...]) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--target",
        folder,
    ]
    command += [
        "--python-version",
        _PYTHON,
        "--implementation",
        "cp",
        "--abi",
        "abi3",
        "--abi",
        "cp313",
        "--abi",
        "none",
    ]
    command += [word for glibc in (17, 28) for word in ("--platform", f"manylinux_2_{glibc}_aarch64")]
    subprocess.run([*command, *requirement], check=True)


if __name__ == "__main__":
    sys.exit(main())
