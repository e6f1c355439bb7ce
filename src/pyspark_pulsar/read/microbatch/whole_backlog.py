"""A stream's reader for Spark 4.1 without the jar of this package. There Spark asks a source in Python for the end of a
micro-batch, and says nothing: not where the query stands, no limit, not which trigger it has.

    a query begins      latestOffset(), initialOffset(), partitions(initial, end)
    it goes on          latestOffset(), partitions(former end, end)
    it is restarted     partitions(last end, last end), then as before
    it is wrapped       latestOffset(), and only then all of the above

So where the query stands is the last end that `partitions` was given. Before that, the answer is what a query gets
that begins.

Trigger.AvailableNow is one micro-batch of all that is there, as Trigger.Once, unless a setting has Spark wrap the
source (`spark.sql.streaming.triggerAvailableNowWrapper.enabled`). Then that first answer is wrong for a query that was
restarted, which shows as soon as Spark says more: the query fails, and nothing has been done for it yet.

Driver only, as all but `read`.
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
    """Each micro-batch reads all that is there. Raises `OptionError` where options limit it."""

    def __init__(self, options: ReadOptions, schema: ReadSchema, changes: Changes | None = None) -> None:
        options.check_without_limits()
        super().__init__(options, schema, changes)
        self._stands: dict[str, Any] | None = None
        """An offset; None while Spark has given none."""
        self._asked = False
        self._unbegun: tuple[Positions, Positions, Positions] | None = None

    def latestOffset(  # noqa: N802
        self,
        start: dict[str, Any] | None = None,  # noqa: ARG002 -- of later versions of Spark
        limit: ReadLimit | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Raises `OptionError` where Spark wraps the source, else as the method of every reader."""
        if self._stands is None and self._asked:
            raise _wrapped()
        self._asked = True
        return super().latestOffset(self._stands or self.initialOffset(), ReadAllAvailable())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Raises `OptionError` where Spark wraps the source, else as the method of every reader."""
        begins = StreamOffset.from_json(start).start is not None
        if self._stands is None and self._asked and not begins:
            raise _wrapped()
        self._stands = end
        if start == end:
            return []
        if self._unbegun is not None:
            super()._begin(*self._unbegun)
            self._unbegun = None
        return super().partitions(start, end)

    def _begin(self, committed: Positions, ends: Positions, counted_from: Positions) -> dict[str, Any]:
        """Not before it is known that the query begins here: the subscription would be moved."""
        if self._stands is not None:
            return super()._begin(committed, ends, counted_from)
        self._unbegun = committed, ends, counted_from
        return {}


def stream_reader_class(*, is_conversation: bool) -> type[PulsarStreamReader]:
    """Return the class of the reader for this version of Spark. `is_conversation`: Spark calls it without the jar of
    this package."""
    return WholeBacklogReader if is_conversation and not SPARK_ASKS_FOR_LIMITS else PulsarStreamReader


def _wrapped() -> OptionError:
    return OptionError(
        "spark.sql.streaming.triggerAvailableNowWrapper.enabled is on: expected it to be off with Spark 4.1 without "
        "the jar of this package, as Spark then asks how far to read before it says where the query stands; turn it "
        "off, start the session with pyspark_pulsar.configure, or use Spark 4.2 or later"
    )
