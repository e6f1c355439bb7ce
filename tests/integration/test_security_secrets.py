"""Where a secret among the options shows: nowhere in what Spark writes, logs, explains or keeps."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

from fixtures.secured_pulsar import WORKER, SecuredPulsar

_PROGRAM = Path(__file__).parent.parent / "programs" / "secret_queries.py"
_PLUGIN, _PARAMS = "pulsar.client.authPluginClassName", "pulsar.client.authParams"


def test_no_file_log_or_plan_of_spark_shows_a_secret(
    secured: SecuredPulsar, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    token = secured.token(WORKER)
    password = "open barley"
    key = base64.b64encode(b'{"client_id": "spark", "client_secret": "open wheat"}').decode()
    oauth2 = {"issuerUrl": "http://127.0.0.1:1", "privateKey": f"data:application/json;base64,{key}"}
    options = secured.options(WORKER) | {_PARAMS: f"token:{token}"}
    others = [
        {_PLUGIN: "basic", _PARAMS: json.dumps({"userId": WORKER, "password": password})},
        {_PLUGIN: "oauth2", _PARAMS: json.dumps(oauth2)},
    ]
    command = [sys.executable, str(_PROGRAM), json.dumps(options), json.dumps(others), topic, str(tmp_path)]
    ran = subprocess.run(
        command,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
    for said in (
        "done",
        "rows of the table: 3",
        "TABLE_OR_VIEW_NOT_FOUND",
        "on purpose",
        "AuthenticationError",
        "identity provider",
        "did you mean",
    ):
        assert said in ran.stdout
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("events" in path.parts for path in files)
    assert any("checkpoint" in path.parts for path in files)
    for secret in (token, password, key, "open wheat"):
        assert [line for line in ran.stdout.splitlines() if secret in line] == []
        assert [path for path in files if secret.encode() in path.read_bytes()] == []
