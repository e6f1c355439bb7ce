"""A stream that cannot be read as asked.

Spark's conversation with a stream's reader (`pyspark.sql.streaming.python_streaming_source_runner`) stops the reader
when anything fails, one that could not be made among them; what the user then sees is that a variable `reader` has no
value. So there a reader is made in any case, and this one says what is wrong as soon as it is asked anything.
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
    """Every call but `stop` raises the fault that it is made with. Driver only."""

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
        """Spark 4.1 gives no arguments."""
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
