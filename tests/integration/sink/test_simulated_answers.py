"""The simulated Pulsar of tests/simulation answers as real servers do: the same operations, answer by answer.

`make simulate-servers` compares more versions.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from integration.official import Admin, await_true
from integration.operations import Executor, draw_operations

from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.tools.standalone import DEFAULT_VERSION, LocalPulsar

VERSIONS = os.environ.get("SIMULATED_VERSIONS", DEFAULT_VERSION).split()
OPERATIONS = 30
PROGRAM = Path(__file__).parents[2] / "simulation" / "answers.py"
OK = 200


def simulated_answers(seeds: list[int]) -> dict[int, list[str]]:
    command = [sys.executable, str(PROGRAM), str(OPERATIONS), *map(str, seeds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return {int(seed): answers for seed, answers in json.loads(done.stdout).items()}


def executor(server: LocalPulsar, topic: str) -> Executor:
    admin = Admin(server.admin_url)

    def has_recovered(name: str) -> bool:
        # The first request loads the topic.
        path = name.replace("://", "/")
        if admin.request("GET", f"{path}/stats").status != OK:
            return False
        answer = admin.request(
            "GET", f"transactions/transactionBufferStats/{path.partition('/')[2]}", version="v3"
        )
        return answer.status == OK and json.loads(answer.data)["state"] in {"Ready", "NoSnapshot"}

    return Executor(
        parse_options(ReadOptions, {"service.url": server.service_url, "topic": topic}),
        topic,
        admin.unload,
        lambda name: await_true(f"recovery of {name}", lambda: has_recovered(name)),
    )


@contextmanager
def running(version: str, pulsar: LocalPulsar, data: Path) -> Iterator[LocalPulsar]:
    if version == DEFAULT_VERSION:
        yield pulsar
    else:
        with LocalPulsar(version=version, data=data) as server:
            yield server


@pytest.mark.parametrize("version", VERSIONS)
def test_real_and_simulated_servers_answer_alike(
    version: str, pulsar: LocalPulsar, topic: str, rng: random.Random, tmp_path: Path
) -> None:
    seeds = [rng.randrange(2**31) for _ in range(10)]
    simulated = simulated_answers(seeds)
    with running(version, pulsar, tmp_path) as server:
        for seed in seeds:
            real = executor(server, f"{topic}-{seed}").run(draw_operations(seed, OPERATIONS))
            assert real == simulated[seed], f"seed {seed}"
    assert any("TransactionEnded" in answer for answers in simulated.values() for answer in answers)
