"""Which of Spark's task attempts reads a split, as Spark tells it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from pyspark import TaskContext


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
