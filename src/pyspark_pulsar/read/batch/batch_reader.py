"""`spark.read.format("pulsar")`: one bounded range of each topic partition, cut into splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from pyspark_pulsar.codec.changes import Changes
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.batch.limit import first_rows, for_limit, tasks_for_limit
from pyspark_pulsar.read.batch.pushdown import Pushed, filters_may_come, push_filters
from pyspark_pulsar.read.task.split_reader import read_splits
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.filter_values import keep_constants_beyond_python
from pyspark_pulsar.spark.shipped_objects import Shipped
from pyspark_pulsar.spark.task_context import new_run, present_attempt
from pyspark_pulsar.spark.tracebacks import hides_tracebacks


@hides_tracebacks
class PulsarBatchReader(Shipped, DataSourceReader):
    """Made on the driver; `partitions` runs there, `read` on executors."""

    def __init__(self, options: ReadOptions, schema: ReadSchema, changes: Changes | None = None) -> None:
        self._options = options
        self._schema = schema
        self._changes = changes
        self._pushed = Pushed()
        self._run = new_run()

    def partitions(self) -> Sequence[InputPartition]:
        """Fixes the bounds: messages that arrive later do not belong to this read."""
        plan = plan_batch(self._options, self._pushed.narrow)
        return [InputPartition(task) for task in tasks_for_limit(plan.tasks, self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark runs one task with the value None when `partitions` is empty.
        splits = partition.value if partition is not None else None
        if splits is None:
            return iter(())
        self.begin_task()
        options = for_limit(self._options)
        rows = read_splits(options, self._schema, splits, present_attempt(self._run))
        if self._changes is not None:
            rows = self._changes.rows(rows)
        return rows if options.limit is None else first_rows(rows, options.limit)


@hides_tracebacks
class FilteringBatchReader(PulsarBatchReader):
    """For queries whose filters Spark hands over; see `read.batch.pushdown.filters_may_come`."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Called once, before `partitions`; returns what Spark must evaluate itself."""
        self._pushed, rest = push_filters(filters)
        return rest


def batch_reader_class(*, pushes: bool) -> type[PulsarBatchReader]:
    """Return the class of the reader of a query. `pushes`: filters may decide what is read, where Spark hands them
    over."""
    if not filters_may_come():
        return PulsarBatchReader
    # Spark reads the filters after it has made the reader, also those that are not pushed.
    keep_constants_beyond_python()
    return FilteringBatchReader if pushes else PulsarBatchReader
