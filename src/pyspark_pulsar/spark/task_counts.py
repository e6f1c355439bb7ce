"""What a task tells the jar besides its rows: counts, which the jar sums on the driver and shows in a query's progress.

Spark has no way back from a task in Python but its rows. So the jar's reader makes an empty file in the folder of the
executor's own blocks, which Spark tells its Python workers and deletes with the executor; the task fills it, and the
reader takes it away when the task has ended (`CountsFile.java`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress

from pyspark import TaskContext


def hand_over(counts: Mapping[str, int]) -> None:
    """Executor only. Does nothing where the jar does not ask for it, and never fails a task."""
    task = TaskContext.get()
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    if task is None or not folder:
        return
    path = f"{folder}/pyspark-pulsar-{task.taskAttemptId()}.counts"
    with suppress(OSError), os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "w") as file:
        file.write(json.dumps(dict(counts)) + "\n")
