"""A streaming source in Python without any work: the upper limit for such sources in Spark.

The source passes ready record batches to Spark, with the rows that bench/streams.py reads from Pulsar.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
)
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

_BATCH_ROWS = 16_384
_VALUE = b"0123456789" * 10
_MESSAGE_ID = {"ledger": 1, "entry": 1, "batchIndex": 1, "partition": -1}
_SCHEMA = "value binary, __messageId struct<ledger: bigint, entry: bigint, batchIndex: int, partition: int>"


@dataclass
class Rows(InputPartition):
    count: int


class ReadySource(DataSource):
    """A source with the options `rows`, and `splits` for the number of splits."""

    @classmethod
    def name(cls) -> str:
        return "ready"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: object) -> DataSourceStreamReader:  # noqa: N802, ARG002
        return ReadyReader(int(self.options["rows"]), int(self.options["splits"]))


class ReadyReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, rows: int, splits: int) -> None:
        self._rows, self._splits = rows, splits

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"row": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Do nothing, because all rows exist."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(self, start: object = None, limit: object = None) -> dict[str, int]:  # noqa: N802, ARG002
        return {"row": self._rows}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [Rows((end["row"] - start["row"]) // self._splits) for _ in range(self._splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        ids = pa.array([_MESSAGE_ID] * _BATCH_ROWS, _ids_type())
        batch = pa.record_batch({"value": pa.array([_VALUE] * _BATCH_ROWS, pa.binary()), "__messageId": ids})
        for first in range(0, partition.count, _BATCH_ROWS):
            yield batch.slice(0, min(_BATCH_ROWS, partition.count - first))

    def commit(self, end: dict[str, int]) -> None:
        """Do nothing, because the source keeps no rows."""


def _ids_type() -> pa.DataType:
    return pa.struct(
        {"ledger": pa.int64(), "entry": pa.int64(), "batchIndex": pa.int32(), "partition": pa.int32()}
    )
