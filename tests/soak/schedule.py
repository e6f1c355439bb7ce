"""A schedule of events for a running query and its servers. The same seed returns the same schedule."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

KILL_DRIVER: Final = "driver killed"
KILL_WORKER: Final = "Python worker killed"
KILL_EXECUTOR: Final = "executor killed"
KILL_SPARK_WORKER: Final = "Spark's worker killed"
KILL_BROKER: Final = "broker killed"
FREEZE_BROKER: Final = "broker frozen"
RESTART_BOOKIE: Final = "bookie restarted"
REST: Final = "driver killed, and all closed ledgers offloaded before it is back"
ADD_TOPIC: Final = "topic added"
ADD_PARTITIONS: Final = "partitions added"
ROLL: Final = "topic moved, its ledger closed"
OFFLOAD: Final = "closed ledgers offloaded"
TRIM: Final = "ledgers removed that were read"

INTERRUPTIONS: Final = (
    KILL_DRIVER,
    KILL_WORKER,
    KILL_EXECUTOR,
    KILL_SPARK_WORKER,
    KILL_BROKER,
    FREEZE_BROKER,
    RESTART_BOOKIE,
    REST,
)

IN_EPOCH: Final = (KILL_DRIVER, KILL_WORKER, KILL_EXECUTOR, KILL_SPARK_WORKER, RESTART_BOOKIE)
"""The events that happen while a micro-batch is running, after it is planned and before it is committed."""

HALF_HOUR: Final[Mapping[str, int]] = {
    KILL_DRIVER: 12,
    KILL_WORKER: 14,
    KILL_EXECUTOR: 6,
    KILL_SPARK_WORKER: 6,
    KILL_BROKER: 8,
    FREEZE_BROKER: 8,
    RESTART_BOOKIE: 8,
    REST: 4,
    ADD_TOPIC: 4,
    ADD_PARTITIONS: 4,
    ROLL: 6,
    OFFLOAD: 15,
    TRIM: 25,
}
_HALF_HOUR_SECONDS: Final = 1800.0


@dataclass(frozen=True)
class Event:
    """An event that happens `at` seconds after the start, or later if earlier events still run.

    `salt` is the seed for the event's random parts, such as the choice of a bookie or a duration.
    """

    at: float
    kind: str
    salt: int

    def chance(self) -> random.Random:
        return random.Random(self.salt)


def schedule(seed: int, seconds: float) -> list[Event]:
    """Return events of every kind at random times, in the order of time.

    The number of events is proportional to `seconds`. Each kind of event occurs at least once.
    """
    chance = random.Random(seed)
    share = seconds / _HALF_HOUR_SECONDS
    kinds = [kind for kind, count in HALF_HOUR.items() for _ in range(max(1, round(count * share)))]
    events = [Event(chance.uniform(0.0, seconds), kind, chance.getrandbits(32)) for kind in kinds]
    return sorted(events, key=lambda event: event.at)
