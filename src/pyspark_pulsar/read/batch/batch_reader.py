"""The reader of `spark.read.format("pulsar")`: one bounded range of each topic partition, divided into splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from pyspark_pulsar.codec.changes import Changes
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.batch.limit import first_rows, options_for_limit, tasks_for_limit
from pyspark_pulsar.read.batch.pushdown import PushedFilters, may_push_filters, push_filters
from pyspark_pulsar.read.task.split_reader import read_splits
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.filter_values import keep_constants_beyond_python
from pyspark_pulsar.spark.shipped_objects import Shipped
from pyspark_pulsar.spark.task_context import new_run, present_attempt
from pyspark_pulsar.spark.tracebacks import hides_tracebacks


@hides_tracebacks
class PulsarBatchReader(Shipped, DataSourceReader):
    """A batch read. Spark creates the reader on the driver, calls `partitions` there, and calls `read` on executors."""

    def __init__(self, options: ReadOptions, schema: ReadSchema, changes: Changes | None = None) -> None:
        self._options = options
        self._schema = schema
        self._changes = changes
        self._pushed = PushedFilters()
        self._run = new_run()

    def partitions(self) -> Sequence[InputPartition]:
        """Plan the tasks. Planning fixes the bounds, so messages that arrive later do not belong to the read."""
        plan = plan_batch(self._options, self._pushed.narrow)
        return [InputPartition(task) for task in tasks_for_limit(plan.tasks, self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark runs one task with the value None if `partitions` is empty.
        splits = partition.value if partition is not None else None
        if splits is None:
            return iter(())
        self.begin_task()
        options = options_for_limit(self._options)
        rows = read_splits(options, self._schema, splits, present_attempt(self._run))
        if self._changes is not None:
            rows = self._changes.rows(rows)
        return rows if options.limit is None else first_rows(rows, options.limit)


@hides_tracebacks
class FilteringBatchReader(PulsarBatchReader):
    """A batch read with filters from Spark.

    Only processes in which `read.batch.pushdown.may_push_filters` returns true can use this class.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Use the query's filters, and return the filters that Spark must evaluate.

        Called once, before `partitions`.
        """
        self._pushed, rest = push_filters(filters)
        return rest


def batch_reader_class(*, pushes: bool) -> type[PulsarBatchReader]:
    """Return the reader class for a query.

    `pushes` means that filters from Spark may limit the ranges that are read.
    """
    if not may_push_filters():
        return PulsarBatchReader
    # Spark parses the filters after it has created the reader, including filters that are not pushed.
    keep_constants_beyond_python()
    return FilteringBatchReader if pushes else PulsarBatchReader
