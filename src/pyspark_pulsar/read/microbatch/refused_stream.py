"""A reader for a stream that cannot be read.

Spark calls a stream's reader in a separate process (`pyspark.sql.streaming.python_streaming_source_runner`). The code
of this process stops the reader after any failure, even if the reader could not be created. Then the user sees only an
error about an unset variable `reader`. So this package always creates a reader. The reader in this module raises the
actual error at its first call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Never

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.read_limits import ReadLimit, SupportsTriggerAvailableNow
from pyspark_pulsar.spark.shipped_objects import Shipped
from pyspark_pulsar.spark.tracebacks import hides_tracebacks


@hides_tracebacks
class RefusedStream(Shipped, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader that raises its error at every call except `stop`. Driver only."""

    def __init__(self, fault: PulsarError) -> None:
        self._fault = fault

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        self._raise()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        self._raise()

    def latestOffset(  # noqa: N802
        self,
        start: dict[str, Any] | None = None,  # noqa: ARG002
        limit: ReadLimit | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Raise the error. Spark 4.1 passes no arguments."""
        self._raise()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._raise()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        self._raise()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002
        self._raise()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        self._raise()

    def commit(self, end: dict[str, Any]) -> None:  # noqa: ARG002
        self._raise()

    def _raise(self) -> Never:
        raise self._fault
