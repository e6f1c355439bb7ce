"""Stopping streaming queries that have read all that they were asked for. Runs in the user's program.

A source in Python cannot end a query: it has no way back to Spark, other than failing. It can say in its offsets that
there is nothing more to come, and whoever holds the session can listen to that.
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
    """Stop each streaming query of this session, once the micro-batch is committed with which all its Pulsar sources
    have reached the ends that they were given (`endingOffsets`, `endingTimestamp`, `endingEventTime`);
    `awaitTermination` returns then.

    Call it before the queries are started. A query with a source that has no end goes on. Returns the listener, for
    `spark.streams.removeListener`.
    """
    listener = StopAtEnd(spark)
    spark.streams.addListener(listener)
    return listener


class StopAtEnd(StreamingQueryListener):
    """See `stop_at_end`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        sources = event.progress.sources
        if sources and all(has_ended(source.endOffset) for source in sources):
            # In a thread: stopping waits for the query, which may be waiting for its listeners.
            names = (str(event.progress.id), str(event.progress.runId))
            threading.Thread(target=self._stop, args=names, daemon=True).start()

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Nothing to do."""

    def _stop(self, query_id: str, run_id: str) -> None:
        query = self._spark.streams.get(query_id)
        if query is not None and query.isActive and str(query.runId) == run_id:
            _log.info("query %s has reached the ends that it was given, and is stopped", query_id)
            query.stop()
