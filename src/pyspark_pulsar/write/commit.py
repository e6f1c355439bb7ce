"""What a task tells the driver when it has ended."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_pulsar.write.journal import Prepared, Writer


@dataclass(frozen=True)
class RowsStored(WriterCommitMessage):
    """Picklable; `rows` have receipts from the broker, unless the delivery guarantee is `none`."""

    rows: int


@dataclass(frozen=True)
class RowsPrepared(WriterCommitMessage):
    """Picklable. `prepared` is None where a task had no rows, or its epoch was decided before."""

    writer: Writer
    prepared: Prepared | None
