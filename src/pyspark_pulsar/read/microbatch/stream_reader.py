"""The stream reader of `spark.readStream.format("pulsar")`: the methods that Spark calls, with offsets as JSON.

Every micro-batch is a bounded range, and it is planned in the same way as a batch read. Spark calls these methods:

    Spark calls       purpose                                          module
    latestOffset      find the end of the next micro-batch             microbatch.trigger
                      measure the query's lag, and move its            microbatch.progress
                      subscription to the start of that micro-batch
    partitions        plan its splits, or raise the error that some    microbatch.checked_plan
                      messages were removed
    read              yield the rows of a task, on an executor         read.task
    commit            acknowledge the messages of the previous
                      micro-batches

Each query has its reader in a separate driver process. Only end offsets are stored in Spark's checkpoint.
`microbatch.offset` describes the consequences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyspark_pulsar.codec.changes import Changes
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST, FROM_LATEST
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.progress.place_log import PlaceLog
from pyspark_pulsar.read.microbatch.query import StreamQuery
from pyspark_pulsar.read.planning.partition_plan import splits_of
from pyspark_pulsar.read.planning.splits.tasks import tasks_of
from pyspark_pulsar.read.task.split_reader import read_splits
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.logging import show_warnings
from pyspark_pulsar.spark.read_limits import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark_pulsar.spark.shipped_objects import Shipped
from pyspark_pulsar.spark.task_context import new_run, present_attempt
from pyspark_pulsar.spark.tracebacks import hides_tracebacks


@hides_tracebacks
class PulsarStreamReader(Shipped, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of one streaming query. The reader connects to brokers at first use.

    `read` runs on executors. All other methods run in the query's driver process.
    """

    def __init__(self, options: ReadOptions, schema: ReadSchema, changes: Changes | None = None) -> None:
        show_warnings()
        self._options = options
        self._schema = schema
        self._changes = changes
        self._run = new_run()
        self._open: StreamQuery | None = None
        self._latest: dict[str, Any] | None = None
        self._places = PlaceLog()

    def shipped_state(self) -> dict[str, Any]:
        """Return the attributes that a task needs, without the driver's connections and its latest ends."""
        kept = ("_options", "_schema", "_changes", "_run")
        return {name: getattr(self, name) for name in kept}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return a symbol, because Spark calls this method twice and both answers must mean the same offset."""
        published_from = self._options.published_from
        default = FROM_LATEST if published_from is None else FROM_EARLIEST
        start = self._options.starting_offsets or default
        return StreamOffset(start=start, published_from=published_from).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return one of the query's limits, because Spark accepts only one.

        Spark passes this limit back to `latestOffset`.

        `latestOffset` interprets any limit except `ReadAllAvailable` as all limits of the options.
        """
        options = self._options
        if options.max_records_per_trigger is not None:
            return ReadMaxRows(options.max_records_per_trigger)
        if options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(options.max_bytes_per_trigger)
        if options.min_offsets_per_trigger is not None:
            return ReadMinRows(options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._opened().trigger.freeze()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next micro-batch, or `start` if too few or no messages are available.

        Args:
            start: The last offset of the query.
            limit: With `ReadAllAvailable`, the result is the present ends, or the ends at the begin of
                Trigger.AvailableNow. Any other limit applies the limits of the options.

        Raises:
            DataLossError: A topic was deleted, or ends before the position that the query has reached.
            OptionError: The checkpoint contains topics that the options do not name.

        """
        former = StreamOffset.from_json(start)
        query = self._opened()
        query.checkpoint_topics.check(former.positions)
        batch = query.trigger.next_micro_batch(former, is_limited=not isinstance(limit, ReadAllAvailable))
        lag = self._begin(batch.committed, batch.goal, batch.counted_from)
        present = StreamOffset(batch.present_ends, published_from=former.published_from)
        self._latest = present.to_json() | {"lag": lag}
        return start if batch.is_empty else batch.end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the ends that `latestOffset` has found last, with two additional keys.

        `"lag"` is the query's lag (`progress.lag`). `"readers"` is the number of ranges that the last micro-batch reads
        from each location.
        """
        return None if self._latest is None else self._latest | {"readers": self._places.by_place}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks that read from the offset `start` to the offset `end`.

        After a restart, Spark also calls this method for the micro-batch that it planned last.
        """
        former, reached = StreamOffset.from_json(start), StreamOffset.from_json(end)
        query = self._opened()
        query.checkpoint_topics.check({**former.positions, **reached.positions})
        splits = splits_of(query.planner.plan(former, reached))
        self._places.note(splits)
        return [InputPartition(task) for task in tasks_of(self._options, splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark runs one task with the value None when `partitions` is empty.
        if partition is None or partition.value is None:
            return iter(())
        self.begin_task()
        rows = read_splits(self._options, self._schema, partition.value, present_attempt(self._run))
        return rows if self._changes is None else self._changes.rows(rows)

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledge the messages that Spark has committed.

        Spark calls this method when it plans the next micro-batch, after `latestOffset`. So Spark never calls it for
        the last micro-batch. `latestOffset` acknowledges messages, too, so nothing depends on this call.
        """
        query = self._opened()
        query.trigger.note_micro_batch()
        query.progress.commit(StreamOffset.from_json(end).positions)

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()

    def _begin(self, committed: Positions, goal: Positions, counted_from: Positions) -> dict[str, Any]:
        """Move the subscription and measure the lag (`QueryProgress.begin`). Return the lag as JSON."""
        return self._opened().progress.begin(committed, goal, counted_from)

    def _opened(self) -> StreamQuery:
        if self._open is None:
            self._open = StreamQuery(self._options, self._schema, self._run)
        return self._open
