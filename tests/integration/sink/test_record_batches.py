"""Where the record batches of a writing task end, which the entries of its topic show: an entry has rows of one."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pulsar as official_client
import pytest
from integration.official import messages_of
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
WIDTH = 1_000


@contextlib.contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    names = {"rows": ROWS, "bytes": BYTES}
    before = {names[key]: str(spark.conf.get(names[key])) for key in values}
    for key, value in values.items():
        spark.conf.set(names[key], value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        ({"rows": "64"}, [64] * 15 + [40]),
        ({"rows": "0"}, [1_000]),  # no limit
        # A row has 8 bytes of nulls, 8 of where its text lies, 1,000 of text; the last row of a batch may go beyond.
        ({"bytes": "65536"}, [65] * 15 + [25]),
        ({"bytes": "64k", "rows": "50"}, [50] * 20),
        ({"bytes": "1"}, [1] * 1_000),
    ],
)
def test_a_batch_ends_by_its_rows_and_by_their_bytes(
    values: dict[str, str],
    sizes: list[int],
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
) -> None:
    frame = spark.range(1_000).selectExpr(f"lpad(cast(id as string), {WIDTH}, '0') value").coalesce(1)
    with settings(spark, **values):
        writer = frame.write.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
        writer.option("pulsar.producer.batchingMaxBytes", "4000000").mode("append").save()
    entries: dict[tuple[int, int], int] = defaultdict(int)
    contents = []
    for message in messages_of(official, topic):
        entries[message.message_id().ledger_id(), message.message_id().entry_id()] += 1
        contents.append(message.data())
    assert contents == [b"%0*d" % (WIDTH, number) for number in range(1_000)]
    assert list(entries.values()) == sizes


def test_rows_of_any_kind_are_measured(spark: SparkSession) -> None:
    """Spark's operators give rows in its own format of memory; others are brought into it first."""
    jvm: Any = spark._jvm
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    columns = spark.range(1).selectExpr("'' value")._jdf.schema()
    rows = jvm.java.util.ArrayList()
    for number in range(100):
        cells = gateway.new_array(gateway.jvm.java.lang.Object, 1)
        cells[0] = jvm.org.apache.spark.unsafe.types.UTF8String.fromString(f"{number:0{WIDTH}}")
        rows.add(jvm.org.apache.spark.sql.catalyst.expressions.GenericInternalRow(cells))
    with settings(spark, bytes="65536"):
        batches = _batches(jvm, gateway, rows.iterator(), columns)
        sizes, contents = [], []
        while batches.hasNext():
            batch = batches.next()
            sizes.append(0)
            while batch.hasNext():
                sizes[-1] += 1
                contents.append(batch.next().getStruct(0, 1).getUTF8String(0).toString())
    assert sizes == [65, 35]
    assert contents == [f"{number:0{WIDTH}}" for number in range(100)]


def _batches(jvm: Any, gateway: Any, rows: Any, columns: Any) -> Any:
    """The class is none of anybody's but the jar's."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    (constructor,) = loader.loadClass("org.pysparkpulsar.source.RowBatches").getDeclaredConstructors()
    constructor.setAccessible(True)
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, 2)
    arguments[0], arguments[1] = rows, columns
    return constructor.newInstance(arguments)
