"""The golden entries of the kernel's tests, compared with new output of the server's own jars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark_pulsar.tools.standalone import LocalPulsar


def test_golden_files_are_current(pulsar: LocalPulsar) -> None:
    script = Path(__file__).parents[3] / "scripts" / "golden.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
