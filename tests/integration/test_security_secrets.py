"""Where a secret among the options shows: nowhere in what Spark writes, logs, explains or keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fixtures.secured_pulsar import WORKER, SecuredPulsar

_PROGRAM = Path(__file__).parent.parent / "programs" / "secret_queries.py"


def test_no_file_log_or_plan_of_spark_shows_the_token(
    secured: SecuredPulsar, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    token = secured.token(WORKER)
    options = secured.options(WORKER) | {"pulsar.client.authParams": token}
    command = [sys.executable, str(_PROGRAM), json.dumps(options), topic, str(tmp_path)]
    ran = subprocess.run(
        command,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=150,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
    assert "done" in ran.stdout
    assert "on purpose" in ran.stdout
    assert [line for line in ran.stdout.splitlines() if token in line] == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("events" in path.parts for path in files)
    assert any("checkpoint" in path.parts for path in files)
    assert [path for path in files if token.encode() in path.read_bytes()] == []
