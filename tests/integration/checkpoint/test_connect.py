"""Checkpoints in Pulsar over Spark Connect, of a query with `transformWithState`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from integration.checkpoint.checkpoints import PROGRAMS, location, new_name

from pyspark_pulsar.tools.standalone import LocalPulsar

CONNECT = Path(__file__).parents[3] / ".venv" / "connect"


def test_state_over_connect(pulsar: LocalPulsar, topic: str, tmp_path: Path) -> None:
    assert CONNECT.is_dir(), f"expected what Spark Connect needs in {CONNECT}; make test puts it there"
    path = ":".join(filter(None, [str(CONNECT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    command = [
        sys.executable,
        PROGRAMS / "state_over_connect.py",
        pulsar.service_url,
        topic,
        location(new_name()),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, end_of(done.stdout + done.stderr)
    told = json.loads(done.stdout.splitlines()[-1])
    for key in range(3):
        grown = [int(row.split()[1]) for row in told["rows"] if row.startswith(f"k{key} ")]
        assert grown == [3 + key, 5 + key, 5 + key]
    assert told["state"] == {f"k{key}": 5 + key for key in range(3)}


def end_of(log: str) -> str:
    return "\n".join([line for line in log.splitlines() if not line.lstrip().startswith("at ")][-60:])
