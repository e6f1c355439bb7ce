"""What a stream's reader may be asked besides its offsets: limits of a micro-batch, and Trigger.AvailableNow.

PySpark has the classes since 4.2. To Spark 4.1 these here stand for them, which are the same: Spark itself does not ask
there, but the jar of this package does (`spark.stream_readers`). This module alone knows which of them there are.
"""

from __future__ import annotations

SPARK_ASKS_FOR_LIMITS: bool
"""Whether Spark itself asks a source in Python, without the jar of this package: since 4.2."""

__all__ = [
    "SPARK_ASKS_FOR_LIMITS",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxBytes",
    "ReadMaxRows",
    "ReadMinRows",
    "SupportsTriggerAvailableNow",
]

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:
    from dataclasses import dataclass

    class ReadLimit:  # type: ignore[no-redef]
        """How much one micro-batch may read."""

    @dataclass
    class ReadAllAvailable(ReadLimit):  # type: ignore[no-redef]
        """All that is there."""

    @dataclass
    class ReadMinRows(ReadLimit):  # type: ignore[no-redef]
        """So many messages, or nothing yet."""

        min_rows: int

    @dataclass
    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """No more messages than that."""

        max_rows: int

    @dataclass
    class ReadMaxBytes(ReadLimit):  # type: ignore[no-redef]
        """No more stored bytes than that."""

        max_bytes: int

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A reader that is told when Trigger.AvailableNow begins, and then has a last offset."""

    SPARK_ASKS_FOR_LIMITS = False
else:
    SPARK_ASKS_FOR_LIMITS = True
