"""Tasks that fail or rest at one of their rows. A seed selects the tasks and the rows.

While a task rests, Spark can start a speculative attempt. `SPECULATION` is the configuration of such a session.
Spark speculates only on a cluster of at least two hosts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Final

from pyspark import TaskContext
from pyspark.sql import Column, SparkSession
from pyspark.sql.functions import udf

_FAIL: Final = 0.06
_REST: Final = 0.04
_REST_SECONDS: Final = (2.0, 6.0)
_WITHIN_ROWS: Final = 400
_TROUBLED_ATTEMPTS: Final = 3
"""The number of attempts of a task that can fail: less than `spark.task.maxFailures`, so that no query fails."""

SPECULATION: Final = {
    "spark.task.maxFailures": "8",
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.task.duration.threshold": "2s",
}


class InjectedFailure(Exception):
    """The error of a task that fails on purpose."""


def troubled(seed: int) -> Callable[[Column], Column]:
    """Return a function that returns texts unchanged, but fails or rests in some tasks.

    The attempts and rows at which tasks fail or rest depend on `seed`, stage, partition and attempt.
    """
    SparkSession.active().sparkContext.addPyFile(__file__)
    attempts: dict[int, Iterator[None]] = {}

    @udf("string")
    def give(value: str) -> str:
        context = TaskContext.get()
        if context is not None:
            number = context.taskAttemptId()
            if number not in attempts:
                attempts.clear()
                attempts[number] = _trouble(seed, context)
            next(attempts[number])
        return value

    return give


def _trouble(seed: int, context: TaskContext) -> Iterator[None]:
    """Return an iterator for a task, which is advanced at each row."""
    task = f"{seed} {context.stageId()} {context.partitionId()} {context.attemptNumber()}"
    chance = random.Random(task)
    drawn, row, seconds = chance.random(), chance.randrange(_WITHIN_ROWS), chance.uniform(*_REST_SECONDS)
    if context.attemptNumber() < _TROUBLED_ATTEMPTS and drawn < _FAIL + _REST:
        for _ in range(row):
            yield
        if drawn < _FAIL:
            raise InjectedFailure(f"at row {row} of {task}")
        time.sleep(seconds)
    while True:
        yield
