"""A soak of checkpoints in Pulsar: in each round, two drivers start one query on one checkpoint at the same moment.

The sink must contain each number once and in order. Otherwise, both drivers have used the checkpoint.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pulsar as official_client
from integration.checkpoint.checkpoints import faults, new_name
from integration.checkpoint.racing import race
from integration.official import Admin, JavaClient

from pyspark_pulsar.tools.standalone import LocalPulsar


@dataclass
class CheckpointReport:
    """The counts of a soak. `faults` contains all faults of the rows."""

    rounds: int
    seconds: float
    won: dict[str, int]
    """The number of rounds that each driver won, or "neither". Both drivers can win one round in sequence."""
    messages: int
    faults: list[str]


def checkpoint_soak(folder: Path, rounds: int, say: Callable[[str], None]) -> CheckpointReport:
    """Run the soak, with a few seconds for each of `rounds`."""
    begin, topic = time.monotonic(), "persistent://public/default/race"
    with LocalPulsar(data=folder / "pulsar") as server:
        admin = Admin(server.admin_url)
        admin.create(topic)
        admin.create(f"{topic}-sink")
        client = official_client.Client(server.service_url)
        try:
            sent, won = race(server.service_url, client, topic, new_name(), folder, rounds, say)
        finally:
            client.close()
        rows = [json.loads(row["value"]) for row in JavaClient(server).read(f"{topic}-sink", "STRING")]
    return CheckpointReport(rounds, round(time.monotonic() - begin, 1), dict(won), sent, faults(rows, sent))
