"""Optional parts of a stream reader's interface: limits of a micro-batch, and `Trigger.AvailableNow`.

PySpark has these classes since 4.2. For Spark 4.1, this module defines the same classes. Spark 4.1 itself does not use
them, but the jar of this package does (`spark.stream_readers`). Only this module depends on the version of PySpark.
"""

from __future__ import annotations

SPARK_ASKS_FOR_LIMITS: bool
"""True if Spark itself, without this package's jar, requests limits from a Python source: in Spark 4.2 and later."""

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
        """A limit for one micro-batch."""

    @dataclass
    class ReadAllAvailable(ReadLimit):  # type: ignore[no-redef]
        """The absence of a limit, so that a micro-batch reads all available messages."""

    @dataclass
    class ReadMinRows(ReadLimit):  # type: ignore[no-redef]
        """A minimum number of messages. The micro-batch is empty if fewer messages are available."""

        min_rows: int

    @dataclass
    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """A limit on the number of messages."""

        max_rows: int

    @dataclass
    class ReadMaxBytes(ReadLimit):  # type: ignore[no-redef]
        """A limit on the number of stored bytes."""

        max_bytes: int

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A reader that is notified when `Trigger.AvailableNow` begins. The last offset of the reader is then fixed."""

    SPARK_ASKS_FOR_LIMITS = False
else:
    SPARK_ASKS_FOR_LIMITS = True
