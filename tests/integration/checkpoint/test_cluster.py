"""State in Pulsar from a cluster of Spark with two executors and a Pulsar with authentication; no secret is
shown.
"""

from __future__ import annotations

import os
from pathlib import Path

import pulsar as official_client
from fixtures.secured_pulsar import ADMIN, WORKER, SecuredPulsar
from fixtures.spark_cluster import spark_cluster
from integration.checkpoint.checkpoints import PROVIDERS, Program, location, new_name, send_numbers

_ROWS = 200


def test_executors_keep_state_and_show_no_secret(secured: SecuredPulsar, topic: str, tmp_path: Path) -> None:
    """`WORKER` may produce and consume, and nothing else."""
    (tmp_path / "events").mkdir()
    token = secured.token(WORKER)
    options = secured.options(WORKER) | {"pulsar.client.authParams": f"token:{token}"}
    client = official_client.Client(
        secured.service_url, authentication=official_client.AuthenticationToken(secured.token(ADMIN))
    )
    query = {
        "checkpoint": location(new_name()),
        "conf": {**PROVIDERS["rocksdb-2"], "spark.sql.shuffle.partitions": "4"},
        "source": {**options, "topic": topic, "startingOffsets": "earliest"},
        # Transactions would need one right more.
        "sink": {**options, "topic": f"{topic}-sink", "deliveryGuarantee": "at-least-once"},
    }
    conf = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{tmp_path}/events",
    }
    with spark_cluster(tmp_path) as spark:
        setting = {"master": spark.url, "cluster": options, "conf": conf, "queries": [query]}
        program = Program(tmp_path, setting)
        arguments = b""
        for number in range(1, 3):
            send_numbers(client, topic, range(number * _ROWS))
            try:
                program.start("--available-now")
                program.await_started()
                # This test passes the setting as an argument of the program.
                arguments += b"".join(each for each in _arguments() if b"stream_with_state.py" not in each)
                assert program.wait() == 0, program.end_of_log()
            finally:
                program.kill()
    reader = client.create_reader(f"{topic}-sink", official_client.MessageId.earliest)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(60_000).data().decode())
    client.close()
    assert len(found) == len(set(found)) == 2 * _ROWS, (len(found), len(set(found)))
    parts = {each.split('"part":')[1] for each in found}
    assert len(parts) == 4
    executors = {path.parent.name for path in (tmp_path / "work").glob("*/*/stderr")}
    assert len(executors) >= 2
    assert b"pyspark_pulsar.checkpoint" in arguments
    assert token.encode() not in arguments
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.parent.name.startswith(("events", "eventlog")) for path in files)
    assert [path for path in files if token.encode() in path.read_bytes()] == []


def _arguments() -> list[bytes]:
    """Return the command lines of all processes."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found.append((entry / "cmdline").read_bytes())
            except OSError:
                continue
    return found
