"""Which task Spark has started, as Spark tells it on the executor."""

from __future__ import annotations

from pyspark import TaskContext

from pyspark_pulsar.errors import CommitError
from pyspark_pulsar.write.exactly_once.state import Writer

# Local properties of Spark's streaming jobs: the query's id, its present epoch; a run's id is the job's group.
_QUERY, _EPOCH, _RUN = "sql.streaming.queryId", "streaming.sql.batchId", "spark.jobGroup.id"


def present_partition() -> int:
    """Spark's partition; 0 without a task of Spark's."""
    task = TaskContext.get()
    return 0 if task is None else task.partitionId()


def present_epoch() -> tuple[Writer, int]:
    """Who writes, and the epoch. Raises `CommitError` outside of a streaming query's task."""
    task = TaskContext.get()
    query, epoch, run = (
        None if task is None else task.getLocalProperty(name) for name in (_QUERY, _EPOCH, _RUN)
    )
    if query is None or epoch is None or run is None:
        raise CommitError(
            f"deliveryGuarantee=exactly-once: expected Spark to tell a task its query, epoch and run, got {query}, "
            f"{epoch} and {run}; use a streaming query of Spark 4.2 or 4.3, or deliveryGuarantee=at-least-once"
        )
    return Writer(query, run), int(epoch)
