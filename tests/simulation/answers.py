"""Print the simulated server's answers to the operations of seeds, as JSON: `answers.py COUNT SEED...`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simulation import runtime  # replaces the package's clock, so it is the first import

# isort: split
from integration.operations import Executor, draw_operations

from pyspark_pulsar.options import ReadOptions, parse_options
from simulation.pulsar.broker import Cluster
from simulation.pulsar.topic import RECOVERING
from simulation.world import Choices, Process, World

_OPTIONS = parse_options(ReadOptions, {"service.url": "pulsar://broker-0:6650", "topic": "a"})


def answers(seed: int, count: int) -> list[str]:
    """Return the answers of the simulated server."""
    world = World(Choices(0, ()))
    cluster = Cluster(world)
    runtime.enter(world, cluster.socket)
    process, found = Process("client"), []

    def unload(name: str) -> None:
        cluster.unload(cluster.topics[name])
        cluster.owner(name)
        cluster.load(cluster.topics[name])

    def await_buffer(name: str) -> None:
        while cluster.topics[name].state == RECOVERING or cluster.topics[name].is_blind:
            runtime.time.sleep(0.01)

    executor = Executor(_OPTIONS, f"persistent://public/default/t{seed}", unload, await_buffer)
    world.start(process, "client", lambda: found.extend(executor.run(draw_operations(seed, count))))
    world.run_until(lambda: not any(fiber.name == "client" for fiber in process.fibers), 100_000.0)
    world.close([process])
    return found


if __name__ == "__main__":
    print(json.dumps({seed: answers(int(seed), int(sys.argv[1])) for seed in sys.argv[2:]}))
