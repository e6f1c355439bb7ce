"""The task in this process: its partition, epoch and attempt, and the counts that the task reports to the jar.

Spark returns only rows from a Python task. So the jar's reader creates an empty file in the folder of the executor's
blocks. Spark passes the path of this folder to its Python workers, and deletes the folder with the executor. The task
writes counts into the file. After the task, the reader removes the file, and the driver shows the sums in the query's
progress (`CountsFile.java`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyspark import TaskContext

from pyspark_pulsar.errors import CommitError
from pyspark_pulsar.runtime import uuid

# Local properties of Spark's streaming jobs: the query's id, the current epoch, and the id of the run as the job group.
_QUERY, _EPOCH, _RUN = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"


def present_partition() -> int:
    """Return the number of Spark's partition, or 0 outside of Spark's tasks."""
    task = TaskContext.get()
    return 0 if task is None else task.partitionId()


def present_epoch() -> tuple[str, str, int]:
    """Return the id of the query, the id of its run, and the epoch.

    Raises:
        CommitError: This is not a task of a streaming query.

    """
    task = TaskContext.get()
    query, epoch, run = (
        None if task is None else task.getLocalProperty(name) for name in (_QUERY, _EPOCH, _RUN)
    )
    if query is None or epoch is None or run is None:
        raise CommitError(
            f"deliveryGuarantee=exactly-once: expected Spark to pass query, epoch and run to the task, got {query}, "
            f"{epoch} and {run}; use a streaming query of Spark 4.1 to 4.3, or deliveryGuarantee=at-least-once"
        )
    return query, run, int(epoch)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of a task, with the ids by which audits distinguish attempts."""

    run: str = ""
    """An id that all tasks of one plan of a query share."""
    number: int = 0
    """The number of the attempt. The first attempt of a task has the number 0."""
    task: int = 0
    """An id that is unique in the Spark application."""


def new_run() -> str:
    """Return an id for the tasks of a new plan. Runs on the driver only."""
    return uuid.uuid4().hex


def present_attempt(run: str) -> Attempt:
    """Return the attempt that runs in this process. Outside of Spark's tasks, the attempt has the number 0."""
    task = TaskContext.get()
    return Attempt(run) if task is None else Attempt(run, task.attemptNumber(), task.taskAttemptId())


def report_counts(counts: Mapping[str, int]) -> None:
    """Report counts of this task to the jar. Runs on executors only.

    Do nothing if the jar does not expect counts, and never fail the task.
    """
    task = TaskContext.get()
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    if task is None or not folder:
        return
    path = f"{folder}/pyspark-pulsar-{task.taskAttemptId()}.counts"
    with suppress(OSError), os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "w") as file:
        file.write(json.dumps(dict(counts)) + "\n")
