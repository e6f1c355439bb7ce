"""Two drivers on one checkpoint, in a short form of `make soak-checkpoint`: no file of the loser counts."""

from __future__ import annotations

import json
from pathlib import Path

import pulsar as official_client
from integration.checkpoint.checkpoints import faults, new_name
from integration.checkpoint.racing import race
from integration.official import Admin, JavaClient

from pyspark_pulsar.tools.standalone import LocalPulsar

_ROUNDS = 3


def test_two_drivers_at_once(
    pulsar: LocalPulsar,
    topic: str,
    official: official_client.Client,
    admin: Admin,
    java_client: JavaClient,
    tmp_path: Path,
) -> None:
    admin.create(topic)
    admin.create(f"{topic}-sink")
    sent, _ = race(pulsar.service_url, official, topic, new_name(), tmp_path, _ROUNDS, print)
    rows = [json.loads(row["value"]) for row in java_client.read(f"{topic}-sink", "STRING")]
    assert faults(rows, sent) == []
