"""A stream's reader for Spark 4.1 without the jar of this package.

Spark 4.1 requests the end of a micro-batch without arguments. Spark passes neither the query's position nor a limit nor
the kind of trigger. These are its calls:

    a query begins      latestOffset(), initialOffset(), partitions(initial, end)
    the query continues latestOffset(), partitions(last end, end)
    the query restarts  partitions(last end, last end), then as before
    with the wrapper    latestOffset(), and only then all calls above

So the query's position is the last end that was passed to `partitions`. Before the first such call, `latestOffset`
answers as for a new query.

Trigger.AvailableNow is one micro-batch of all messages, like Trigger.Once. But Spark wraps the source if
`spark.sql.streaming.triggerAvailableNowWrapper.enabled` is set. Then the first value that `latestOffset` returns is
wrong for a restarted query. Spark's next call reveals the wrong value. So the query fails before it has read or changed
anything.

All methods except `read` run only on the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.datasource import InputPartition

from pyspark_pulsar.codec.changes import Changes
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.read_limits import SPARK_ASKS_FOR_LIMITS, ReadAllAvailable, ReadLimit
from pyspark_pulsar.spark.tracebacks import hides_tracebacks


@hides_tracebacks
class WholeBacklogReader(PulsarStreamReader):
    """A reader whose micro-batches read all available messages.

    Options that limit micro-batches raise `OptionError`.
    """

    def __init__(self, options: ReadOptions, schema: ReadSchema, changes: Changes | None = None) -> None:
        options.check_without_limits()
        super().__init__(options, schema, changes)
        self._position: dict[str, Any] | None = None
        """The offset that the query has reached; None until Spark passes the first offset."""
        self._was_called = False
        self._delayed_begin: tuple[Positions, Positions, Positions] | None = None

    def latestOffset(  # noqa: N802
        self,
        start: dict[str, Any] | None = None,  # noqa: ARG002 -- Later versions of Spark pass it.
        limit: ReadLimit | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the offset at which the next micro-batch ends. Raise `OptionError` if Spark wraps the source."""
        if self._position is None and self._was_called:
            raise _wrapped()
        self._was_called = True
        return super().latestOffset(self._position or self.initialOffset(), ReadAllAvailable())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks from the offset `start` to the offset `end`.

        Raise `OptionError` if Spark wraps the source.
        """
        begins = StreamOffset.from_json(start).start is not None
        if self._position is None and self._was_called and not begins:
            raise _wrapped()
        self._position = end
        if start == end:
            return []
        if self._delayed_begin is not None:
            super()._begin(*self._delayed_begin)
            self._delayed_begin = None
        return super().partitions(start, end)

    def _begin(self, committed: Positions, ends: Positions, counted_from: Positions) -> dict[str, Any]:
        """Store the arguments until the query's position is known, because `super()._begin` moves the subscription.

        A later call of `partitions` then moves the subscription and measures the lag.
        """
        if self._position is not None:
            return super()._begin(committed, ends, counted_from)
        self._delayed_begin = committed, ends, counted_from
        return {}


def stream_reader_class(*, is_conversation: bool) -> type[PulsarStreamReader]:
    """Return the class of the reader for the installed version of Spark.

    `is_conversation` means that Spark calls the reader without the jar of this package.
    """
    return WholeBacklogReader if is_conversation and not SPARK_ASKS_FOR_LIMITS else PulsarStreamReader


def _wrapped() -> OptionError:
    return OptionError(
        "spark.sql.streaming.triggerAvailableNowWrapper.enabled: expected false with Spark 4.1 without the jar of this "
        "package, got true. With true, Spark requests an end before it passes the query's position; set false, start "
        "the session with pyspark_pulsar.configure, or use Spark 4.2 or later"
    )
