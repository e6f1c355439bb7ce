"""A source in Python that has its rows ready in Arrow: the most that Spark lets any of them reach.

Spark runs it by itself as format "ready" and makes rows of its batches. The jar runs it by the class
`org.pysparkpulsar.source.ReadyColumns` (java/ReadyColumns.java) with the columns that a query needs, and hands them
over as columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import rows
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
)
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType


@dataclass
class Numbers(InputPartition):
    value: ClassVar[tuple[()]] = ()
    """What the jar tells Spark's plans of: here are no ranges of topics."""
    start: int
    end: int


class ReadyRows(DataSource):
    """Options: `rows`, `valueFormat`, and `columns` with commas, all by default."""

    @classmethod
    def name(cls) -> str:
        return "ready"

    def schema(self) -> str:
        types = rows.columns(self.options["valueFormat"])
        names = self.options.get("columns", ",".join(types)).split(",")
        return ", ".join(f"`{name}` {types[name]}" for name in names)

    def reader(self, schema: StructType) -> DataSourceReader:
        return ReadyBatch(self._batches(schema), int(self.options["rows"]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return ReadyStream(self._batches(schema), int(self.options["rows"]))

    def _batches(self, schema: StructType) -> ReadyBatches:
        return ReadyBatches(self.options["valueFormat"], tuple(schema.fieldNames()))


class ReadyColumns(ReadyRows):
    """The same as the jar runs it, whose format must be what it says its name is."""

    @classmethod
    def name(cls) -> str:
        return "org.pysparkpulsar.source.ReadyColumns"


@dataclass(frozen=True)
class ReadyBatches:
    value_format: str
    names: tuple[str, ...]

    def of(self, numbers: Numbers) -> Iterator[pa.RecordBatch]:
        batch = rows.ready(self.value_format).select(list(self.names))
        start = numbers.start
        while start < numbers.end:
            offset = start % rows.PERIOD
            count = min(rows.PERIOD - offset, numbers.end - start)
            yield batch.slice(offset, count)
            start += count


def _splits(start: int, end: int) -> list[InputPartition]:
    edges = [start + (end - start) * number // rows.PARTITIONS for number in range(rows.PARTITIONS + 1)]
    return [Numbers(edges[number], edges[number + 1]) for number in range(rows.PARTITIONS)]


class ReadyBatch(DataSourceReader):
    def __init__(self, batches: ReadyBatches, count: int) -> None:
        self._batches, self._count = batches, count

    def partitions(self) -> list[InputPartition]:
        return _splits(0, self._count)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Numbers)
        return self._batches.of(partition)


class ReadyStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, batches: ReadyBatches, count: int) -> None:
        self._batches, self._count = batches, count

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"row": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """All rows are there."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(self, start: object = None, limit: object = None) -> dict[str, int]:  # noqa: N802, ARG002
        return {"row": self._count}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return _splits(start["row"], end["row"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Numbers)
        return self._batches.of(partition)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing is kept."""
