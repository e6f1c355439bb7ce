"""kill -9 at every step of a micro-batch, in every format of state: count, distinct and order are exact.

One driver runs a query for each kind of state, from topic to topic and exactly once. A program between its
JVM and the process that keeps checkpoints (tests/programs/crashing_checkpoint.py) holds each query at the
step. It kills the driver when all queries have reached the step. One more query has a store that returns
old state instead of new state, and the comparison must find that.

A start of the driver needs most of a minute. So a run draws some of the steps by its seed. With
CRASH_STEPS=all, as in `make soak-checkpoint`, a run goes through all of them.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pulsar as official_client
from integration.checkpoint.checkpoints import (
    PROGRAMS,
    PROVIDERS,
    Program,
    faults,
    location,
    new_name,
    send_numbers,
)
from integration.official import Admin, JavaClient

from pyspark_pulsar.tools.standalone import LocalPulsar

STEPS = ("offsets", "state", "commits")
MOMENTS = ("before", "in", "after")
POINTS = list(itertools.product(STEPS, MOMENTS))
DRAWN = 4
ROWS = 60
"""The number of rows in a micro-batch."""
_SWAPPED = "swapped"


def test_killed_at_every_step(
    pulsar: LocalPulsar,
    topic: str,
    official: official_client.Client,
    admin: Admin,
    java_client: JavaClient,
    rng: random.Random,
    tmp_path: Path,
) -> None:
    plan_file = tmp_path / "plan.json"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAMS / "crashing_checkpoint.py"} "$@"\n')
    python.chmod(0o755)
    names = {kind: new_name() for kind in (*PROVIDERS, _SWAPPED)}
    queries = [
        query(pulsar, topic, names[kind], PROVIDERS.get(kind, PROVIDERS["default-1"]), kind) for kind in names
    ]
    for each in queries:
        admin.create(each["sink"]["topic"])
    cluster = {"service.url": pulsar.service_url, "python": str(python)}
    # Tasks that are held keep their threads.
    program = Program(tmp_path, {"master": "local[8]", "cluster": cluster, "queries": queries})
    admin.create(topic)
    sent = 0
    watched = [names[kind] for kind in PROVIDERS]
    drawn = POINTS if os.environ.get("CRASH_STEPS") == "all" else rng.sample(POINTS, DRAWN)
    print(f"killed at {drawn}")  # noqa: T201 -- which of them it was
    for step, moment in drawn:
        # The earlier messages are sent again, in other micro-batches, so only the state can recognize them.
        again = rng.sample(range(sent), min(sent, ROWS))
        send_numbers(official, topic, [*range(sent, sent + 3 * ROWS), *again])
        sent += 3 * ROWS
        plan = {"step": step, "moment": moment, "nth": 2, "jitter": 0.02, "checkpoints": watched}
        plan_file.write_text(json.dumps({**plan, "swapped": names[_SWAPPED]}))
        program.start(CRASH_PLAN=str(plan_file))
        try:
            code = program.wait()
        finally:
            program.kill()
        assert code != 0
        assert "a query failed" not in program.log_text(), f"{step}, {moment}: {program.end_of_log()}"
    send_numbers(official, topic, range(sent))
    plan_file.write_text("{}")
    for each in queries:
        del each["source"]["maxRecordsPerTrigger"]
    program = Program(tmp_path, {"cluster": cluster, "queries": queries})
    program.start("--available-now", CRASH_PLAN=str(plan_file))
    assert program.wait() == 0, program.end_of_log()
    for each, kind in zip(queries, names, strict=True):
        rows = [json.loads(row["value"]) for row in java_client.read(each["sink"]["topic"], "STRING")]
        wrong = faults(rows, sent)
        if kind == _SWAPPED:
            assert any("repeated" in fault for fault in wrong), "the comparison finds no lost state"
        else:
            assert wrong == [], f"{kind}: {wrong}"


def query(pulsar: LocalPulsar, topic: str, name: str, conf: dict[str, str], kind: str) -> dict[str, Any]:
    return {
        "checkpoint": location(name),
        "conf": conf,
        "source": {
            "service.url": pulsar.service_url,
            "topic": topic,
            "startingOffsets": "earliest",
            "maxRecordsPerTrigger": str(ROWS),
        },
        "sink": {"service.url": pulsar.service_url, "topic": f"{topic}-{kind}"},
    }
