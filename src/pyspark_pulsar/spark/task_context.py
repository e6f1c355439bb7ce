"""The task that runs in this process: its partition, epoch and attempt, and the counts that it reports to the jar.

Spark returns nothing from a task in Python but its rows. So the jar's reader makes an empty file in the folder of the
executor's own blocks, whose path Spark gives to its Python workers and which it deletes with the executor. The task
fills the file with counts. When the task has ended, the reader removes the file, and the driver shows the sums in the
query's progress (`CountsFile.java`).
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyspark import TaskContext

from pyspark_pulsar.errors import CommitError

# Local properties of Spark's streaming jobs: the query's id, its present epoch; a run's id is the job's group.
_QUERY, _EPOCH, _RUN = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"


def present_partition() -> int:
    """Spark's partition; 0 without a task of Spark's."""
    task = TaskContext.get()
    return 0 if task is None else task.partitionId()


def present_epoch() -> tuple[str, str, int]:
    """The ids of the query and of its run, and the epoch. Raises `CommitError` outside of a streaming query's task."""
    task = TaskContext.get()
    query, epoch, run = (
        None if task is None else task.getLocalProperty(name) for name in (_QUERY, _EPOCH, _RUN)
    )
    if query is None or epoch is None or run is None:
        raise CommitError(
            f"deliveryGuarantee=exactly-once: expected Spark to tell a task its query, epoch and run, got {query}, "
            f"{epoch} and {run}; use a streaming query of Spark 4.1 to 4.3, or deliveryGuarantee=at-least-once"
        )
    return query, run, int(epoch)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Told apart in audits."""

    run: str = ""
    """The same for all tasks that one plan of a query has."""
    number: int = 0
    """0 for the first attempt of the task."""
    task: int = 0
    """Unique in the Spark application."""


def new_run() -> str:
    """Driver only."""
    return uuid.uuid4().hex


def present_attempt(run: str) -> Attempt:
    """Executor only; without a task of Spark's, it is the first."""
    task = TaskContext.get()
    return Attempt(run) if task is None else Attempt(run, task.attemptNumber(), task.taskAttemptId())


def hand_over(counts: Mapping[str, int]) -> None:
    """Report counts of this task to the jar.

    Executor only. Does nothing if the jar waits for no counts, and never fails a task.
    """
    task = TaskContext.get()
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    if task is None or not folder:
        return
    path = f"{folder}/pyspark-pulsar-{task.taskAttemptId()}.counts"
    with suppress(OSError), os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "w") as file:
        file.write(json.dumps(dict(counts)) + "\n")
