"""A listener that stops streaming queries after they have read up to their ending options.

A Python source cannot end a query, because its only signal to Spark is a failure. So the source marks an offset as the
end, and a listener of the session reads this mark. The listener runs in the user's program.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

from pyspark_pulsar.read.microbatch.ends.stream_end import has_ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log: Final = logging.getLogger(__name__)


def stop_at_end(spark: SparkSession) -> StreamingQueryListener:
    """Stop each streaming query of a session when all sources of the query have reached their ends.

    The options `endingOffsets`, `endingTimestamp` and `endingEventTime` define the ends. The last micro-batch is
    committed before the query stops, and then `awaitTermination` returns. Call this function before the queries start.
    If a source of a query has no end, the query continues.

    Returns:
        The listener, for `spark.streams.removeListener`.

    """
    listener = StopAtEnd(spark)
    spark.streams.addListener(listener)
    return listener


class StopAtEnd(StreamingQueryListener):
    """A listener that stops queries whose sources have all reached their ends; see `stop_at_end`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        sources = event.progress.sources
        if sources and all(has_ended(source.endOffset) for source in sources):
            # Stop the query on another thread, because stopping waits for the query, and the query may wait for its
            # listeners.
            names = (str(event.progress.id), str(event.progress.runId))
            threading.Thread(target=self._stop, args=names, daemon=True).start()

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""

    def _stop(self, query_id: str, run_id: str) -> None:
        query = self._spark.streams.get(query_id)
        if query is not None and query.isActive and str(query.runId) == run_id:
            _log.info("Stopping a query, because all its sources have reached their ends: %s", query_id)
            query.stop()
