"""A run of Spark that loads the classes of the tests' sessions, so that the JVM can write the classes to an archive.

    SPARK_SUBMIT_OPTS=-XX:ArchiveClassesAtExit=FILE spark-submit spark_classes.py

The JVM writes FILE when it ends. A JVM that uses FILE needs not parse and check the classes, so Spark starts in half of
the processor time.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType


class NumbersReader(DataSourceReader):
    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(part) for part in range(2)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield pa.RecordBatch.from_pydict({"id": pa.array([partition.value, 2], pa.int64())})


class NumbersStreamReader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"offset": 0}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        return {"offset": 2}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(part) for part in range(start["offset"], end["offset"])]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield pa.RecordBatch.from_pydict({"id": pa.array([partition.value], pa.int64())})


class NumbersWriter(DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


class NumbersStreamWriter(DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


class Numbers(DataSource):
    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "id bigint"

    def reader(self, schema: StructType) -> DataSourceReader:
        del schema
        return NumbersReader()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        del schema
        return NumbersStreamReader()

    def writer(self, schema: StructType, overwrite: bool) -> NumbersWriter:
        del schema, overwrite
        return NumbersWriter()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NumbersStreamWriter:  # noqa: N802
        del schema, overwrite
        return NumbersStreamWriter()


def main() -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(Numbers)
    rows = spark.createDataFrame(
        [(1, "a", {"k": 1.5}, [b"x"])], "id long, s string, m map<string,double>, b array<binary>"
    )
    rows.createOrReplaceTempView("numbers")
    spark.sql("select s, count(*), sum(id), collect_list(m) from numbers group by s order by s").collect()
    spark.read.format("numbers").load().selectExpr("cast(id as string)", "struct(id)", "now()").collect()
    spark.read.format("numbers").load().join(rows, "id").write.format("numbers").mode("append").save()
    with tempfile.TemporaryDirectory() as folder:
        stream = spark.readStream.format("numbers").load()
        for name, sink in (("noop", "noop"), ("numbers", "numbers"), ("memory", "memory")):
            query = stream.writeStream.format(sink).queryName(f"into_{name}").trigger(availableNow=True)
            query.option("checkpointLocation", f"{folder}/{name}").start().awaitTermination()
        rows.write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").collect()
    spark.stop()


if __name__ == "__main__":
    sys.exit(main())
