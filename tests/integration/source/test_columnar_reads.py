"""Columns that Spark gets as columns: every cell is the same as with rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyspark_pulsar.tools.standalone import LocalPulsar

ROWS = 997
BATCH_ROWS = 31
ROUNDS = 6

ReadBoth = Callable[..., tuple[DataFrame, DataFrame]]
LEAVES = (
    BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), StringType(), BinaryType(), DateType(),
    TimestampType(), DecimalType(20, 4),
)  # fmt: skip


@pytest.fixture
def read_both(spark: SparkSession, pulsar: LocalPulsar) -> ReadBoth:
    """Return a function that reads a topic by columns and by rows, in many small batches."""

    def read(topic: str, **options: Any) -> tuple[DataFrame, DataFrame]:
        reader = spark.read.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
        reader = reader.option("batchRows", BATCH_ROWS).options(**options)
        return reader.load(), reader.option("columnarReads", "false").load()

    return read


def write(frame: DataFrame, pulsar: LocalPulsar, topic: str, **options: Any) -> None:
    writer = frame.write.format("pulsar").mode("append").option("service.url", pulsar.service_url)
    writer.option("topic", topic).options(**options).save()


def random_type(rng: random.Random, depth: int) -> DataType:
    kind = rng.randrange(4) if depth else 3
    if kind == 0:
        return ArrayType(random_type(rng, depth - 1))
    if kind == 1:
        return MapType(StringType(), random_type(rng, depth - 1))
    if kind == 2:
        return random_record(rng, depth - 1)
    return rng.choice(LEAVES)


def random_record(rng: random.Random, depth: int) -> StructType:
    return StructType(
        [StructField(f"f{number}", random_type(rng, depth)) for number in range(rng.randint(1, 5))]
    )


def random_column(kind: DataType, seed: int) -> sf.Column:
    """Return values of the type that differ from row to row; a seventh of them is null, at every depth."""
    number = sf.abs(sf.hash(sf.col("id"), sf.lit(seed)))
    match kind:
        case ArrayType():
            element = random_column(kind.elementType, seed + 1)
            value = sf.slice(sf.array(element, element, element), 1, number % 4)
        case MapType():
            value = sf.create_map(sf.concat(sf.lit("k"), number % 9), random_column(kind.valueType, seed + 1))
        case StructType():
            fields = [
                random_column(field.dataType, seed + 7 * place + 1).alias(field.name)
                for place, field in enumerate(kind.fields)
            ]
            value = sf.struct(*fields)
        case BinaryType():
            value = sf.unhex(sf.hex(number))
        case BooleanType():
            value = number % 2 == 0
        case DateType():
            value = sf.date_from_unix_date(number % 40_000)
        case TimestampType():
            value = sf.timestamp_micros(number.cast("bigint") * 1_000_003)
        case StringType():
            value = sf.repeat(number.cast("string"), number % 5)
        case _:
            value = number.cast(kind)
    return sf.when(number % 7 != 0, value).cast(kind)


@pytest.mark.parametrize("kind", ["avro", "json"])
def test_random_schemas_give_the_same_cells(
    kind: str, read_both: ReadBoth, spark: SparkSession, pulsar: LocalPulsar, topic: str, rng: random.Random
) -> None:
    for number in range(ROUNDS):
        schema = random_record(rng, 3)
        columns = [
            random_column(field.dataType, rng.getrandbits(16)).alias(field.name) for field in schema.fields
        ]
        name = f"{topic}-{number}"
        write(spark.range(ROWS).coalesce(1).select(*columns), pulsar, name, valueFormat=kind)
        by_columns, by_rows = read_both(name)
        assert by_columns.collect() == by_rows.collect(), schema.simpleString()
        assert by_columns.count() == ROWS


def test_the_plan_shows_columnar_reads(read_both: ReadBoth, filled: str) -> None:
    by_columns, by_rows = (
        frame._jdf.queryExecution().executedPlan().toString() for frame in read_both(filled)
    )
    assert "ColumnarToRow" in by_columns
    assert "ColumnarToRow" not in by_rows


def arrow_same(column: str) -> sf.Column:
    """Pass the column through an Arrow function of Python, which is pickled by value."""

    @sf.arrow_udf("string")
    def same(texts: pa.Array) -> pa.Array:
        return texts

    return same(column)


HOLDING = {
    "aggregates": lambda frame: frame.agg(
        sf.max("text"), sf.min("text"), sf.first("text"), sf.last("text"), sf.max_by("text", "number"),
        sf.max("inner"), sf.max("list"), sf.first("map"), sf.last("inner"), sf.mode("text", deterministic=True),
        sf.max("__messageId"), sf.sum("number"),
    ),
    "groups": lambda frame: frame.groupBy(sf.substring("text", 1, 2).alias("key")).agg(
        sf.max("text"), sf.first("list"), sf.last("inner"), sf.sort_array(sf.collect_list("text")),
    ).orderBy("key"),
    "rows kept": lambda frame: frame.agg(sf.sort_array(sf.collect_list(sf.struct("number", "text", "list", "map.k")))),
    "sorted": lambda frame: frame.drop("map").orderBy(sf.desc("text"), "number"),
    "top": lambda frame: frame.orderBy(sf.desc("text")).limit(5),
    "limit": lambda frame: frame.limit(BATCH_ROWS + 2),
    "distinct": lambda frame: frame.select("text", "list").distinct().orderBy("text", "list"),
    "exploded": lambda frame: frame.select("text", sf.explode("list")),
    "joined": lambda frame: frame.alias("a").join(frame.alias("b"), sf.col("a.text") == sf.col("b.text")).select(
        "a.text", "b.inner", "a.number").orderBy("a.number", "b.inner"),
    "window": lambda frame: frame.selectExpr("number", "lag(text, 40) over (order by number) as before").orderBy(
        "number"),
    "cached": lambda frame: frame.select("number", "text", "inner").cache().orderBy("number"),
    "broadcast": lambda frame: frame.alias("a").join(
        sf.broadcast(frame.where("number < 50").alias("b")), sf.col("a.text") == sf.col("b.text")).select(
        "a.number", "b.list", "b.map.k").orderBy("number"),
    "python function, limit": lambda frame: frame.select(
        sf.udf(lambda text: text and text + "!", "string")("text"), "inner").limit(BATCH_ROWS + 2),
    "arrow function, limit": lambda frame: frame.select(arrow_same("text"), "inner").limit(BATCH_ROWS + 2),
    "transform": lambda frame: (frame.createOrReplaceTempView("held"), frame.sparkSession.sql(
        "SELECT * FROM (SELECT TRANSFORM(number, text) USING 'cat' AS (n BIGINT, x STRING) FROM held) ORDER BY n"))[1],
    "transform, limit": lambda frame: (frame.createOrReplaceTempView("held"), frame.sparkSession.sql(
        "SELECT TRANSFORM(number, text) USING 'cat' AS (n BIGINT, x STRING) FROM held LIMIT 3"))[1],
    "filtered": lambda frame: frame.where("text > '5' and list[0] is not null").select("inner.x"),
}  # fmt: skip
"""Operators that keep values of a batch after the next one was read."""
# If columns are off, Spark's own reader of Python data sources frees its memory when LIMIT ends the task. Another
# thread, which feeds TRANSFORM, can still read at that moment. Spark then reports a leak.
WITHOUT_LIMIT = {"transform, limit": "transform"}
LIMITS = {"transform, limit": 3}


@pytest.mark.parametrize("what", HOLDING)
def test_operators_keep_values_of_earlier_batches(
    what: str, read_both: ReadBoth, spark: SparkSession, pulsar: LocalPulsar, topic: str
) -> None:
    rows = spark.range(ROWS).coalesce(1).selectExpr(
        "id as number", "reverse(cast(id * 7919 as string)) as text", "array(cast(id as string), 'x') as list",
        "map('k', cast(id as string)) as map", "named_struct('x', cast(id as string), 'y', id) as inner",
    )  # fmt: skip
    write(rows, pulsar, topic)
    columns, rows_only = read_both(topic)
    by_columns = HOLDING[what](columns).collect()
    by_rows = HOLDING[WITHOUT_LIMIT.get(what, what)](rows_only).collect()[: len(by_columns)]
    assert len(by_columns) == LIMITS.get(what, len(by_columns)) > 0
    assert by_columns == by_rows


def test_reads_of_more_columns_than_codegen_supports(
    read_both: ReadBoth, spark: SparkSession, pulsar: LocalPulsar, topic: str
) -> None:
    wide = spark.range(ROWS).coalesce(1).select(*[(sf.col("id") * n).alias(f"c{n}") for n in range(120)])
    write(wide, pulsar, topic)
    by_columns, by_rows = read_both(topic)
    assert by_columns.collect() == by_rows.collect()


def test_a_stream_hands_over_columns(
    spark: SparkSession, pulsar: LocalPulsar, topic: str, tmp_path: Any
) -> None:
    write(spark.range(ROWS).coalesce(1).selectExpr("id", "cast(id as string) as text"), pulsar, topic)
    found = {}
    for columnar in ("true", "false"):
        rows = (
            spark.readStream.format("pulsar")
            .option("service.url", pulsar.service_url)
            .option("topic", topic)
            .option("startingOffsets", "earliest")
            .option("batchRows", BATCH_ROWS)
            .option("columnarReads", columnar)
            .load()
        )
        query = (
            rows.writeStream.format("memory")
            .queryName(f"columnar_{columnar}")
            .option("checkpointLocation", str(tmp_path / columnar))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found[columnar] = spark.table(f"columnar_{columnar}").collect()
    assert len(found["true"]) == ROWS
    assert found["true"] == found["false"]


def test_a_query_reads_the_columns_that_it_needs(
    read_both: ReadBoth, spark: SparkSession, pulsar: LocalPulsar, topic: str
) -> None:
    rows = spark.range(ROWS).coalesce(1).selectExpr("id", "cast(id as string) as text", "id % 2 = 0 as even")
    write(rows, pulsar, topic)
    for frame in read_both(topic):
        plan = frame.where("even").select("id")._jdf.queryExecution().executedPlan().toString()
        scan = next(line for line in plan.splitlines() if "BatchScan" in line)
        assert "id#" in scan
        assert "even#" in scan
        assert "text#" not in scan
        assert "__key#" not in scan
        assert frame.count() == ROWS
        assert frame.where("even").select("id").collect() == [(n,) for n in range(0, ROWS, 2)]


def test_each_query_of_a_dataframe_is_planned_again(
    read_both: ReadBoth, spark: SparkSession, pulsar: LocalPulsar, topic: str
) -> None:
    """A query with filters gets its own plan too, without the filters of an earlier query."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        write(spark.range(10).coalesce(1).selectExpr("id", "cast(id % 2 as string) as __key"), pulsar, topic)
        for expected, frame in zip((10, 20), read_both(topic), strict=True):
            odd = frame.where("__key = cast('1' as binary)")
            assert odd.count() == expected / 2
            assert frame.count() == expected
            write(
                spark.range(10).coalesce(1).selectExpr("id", "cast(id % 2 as string) as __key"), pulsar, topic
            )
            assert odd.count() == expected / 2 + 5
            assert frame.count() == expected + 10
            assert sorted(row.id for row in frame.where("__key is not null").collect())[:2] == [0, 0]
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_modes_that_check_values_read_all_columns(
    mode: str, read_both: ReadBoth, spark: SparkSession, pulsar: LocalPulsar, topic: str
) -> None:
    write(spark.range(3).coalesce(1).selectExpr("id"), pulsar, topic)
    for frame in read_both(topic, mode=mode):
        plan = frame.select("__key")._jdf.queryExecution().executedPlan().toString()
        assert "id#" in next(line for line in plan.splitlines() if "BatchScan" in line)
        assert frame.count() == 3


STREAMS = {
    "projection": (lambda frame: frame.select("id"), {"id"}),
    "filter": (lambda frame: frame.where("even").select("id"), {"id", "even"}),
    "aggregate": (lambda frame: frame.groupBy("even").agg(sf.sum("id").alias("id")), {"id", "even"}),
    "watermark": (
        lambda frame: frame.withWatermark("__publishTime", "1 hour").dropDuplicates(["id"]).select("id"),
        {"id", "text", "even", "__publishTime", "__key"},
    ),
    "all": (lambda frame: frame, {"id", "text", "even", "__key"}),
    "none": (lambda frame: frame.select(sf.lit(1).alias("id")), {"even"}),
    "union with itself": (
        lambda frame: frame.select("id").union(frame.select(sf.length("text").cast("bigint"))),
        {"id", "text", "__key"},
    ),
    "later": (lambda frame: frame.select("id").where("even"), {"id", "even"}),
}


@pytest.mark.parametrize("what", STREAMS)
def test_a_stream_reads_the_columns_that_it_needs(
    what: str, spark: SparkSession, pulsar: LocalPulsar, topic: str, tmp_path: Any
) -> None:
    shape, columns = STREAMS[what]
    rows = spark.range(100).coalesce(1).selectExpr("id", "cast(id as string) as text", "id % 2 = 0 as even")
    write(rows, pulsar, topic)
    stream = (
        spark.readStream.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
    )
    batch = (
        spark.read.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic).load()
    )
    name = f"needs_{what.replace(' ', '_')}"
    # The last plan is the plan of the rows, because no plan for the watermark follows.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    query = (
        shape(stream.option("startingOffsets", "earliest").load())
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("complete" if what == "aggregate" else "append")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
    scans = [line for line in query._jsq.explainInternal(False).splitlines() if "MicroBatchScan" in line]
    assert len(scans) == 1 + (what == "union with itself")
    for scan in scans:
        read = {part.split("#")[0] for part in scan.partition("[")[2].partition("]")[0].split(", ")}
        assert read >= columns
        assert len(columns) > 3 or what == "union with itself" or read == columns
    assert len(query.recentProgress[0]["sources"]) == 1
    found = sorted(row.id for row in spark.table(name).collect())
    assert found == sorted(row.id for row in shape(batch.drop("x")).collect())
