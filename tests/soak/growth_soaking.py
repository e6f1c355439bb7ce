"""A soak of one session, which runs thousands of micro-batches and hundreds of queries without using more resources.

A stream reads two rows at a time. In parallel, the soak runs each kind of query that passes rows to other threads or
processes: TRANSFORM, Python and Arrow functions with a limit, window, sort, broadcast and cache. The resources of the
driver's processes are counted twice: after a fifth of the work, when caches are warm, and at the end.

The soak runs no TRANSFORM with a limit, because Spark 4.3 then leaks a process and two threads, with any source.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as sf

from pyspark_pulsar import configure
from pyspark_pulsar.tools.standalone import LocalPulsar

ROWS = 20_000
_ROWS_PER_EPOCH = 2
_WARM = 5
"""The first count is made after this part of the work: one fifth."""
_EPOCH_SECONDS = 10.0
_MARGINS = {
    "heap_mib": 40,
    "direct_mib": 24,
    "arrow_mib": 0,
    "threads": 12,
    "files": 24,
    "sockets": 12,
    "children": 2,
}
"""The largest allowed difference between the last count and the first count."""
_POOLS = ("QueryStageCreator", "ResultQueryStageExecution", "shuffle-exchange", "broadcast-exchange")
"""Threads of Spark's adaptive execution: pools with an upper limit, which queries fill."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # By default Spark itself keeps the last thousand of each, which looks like growth until then.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
}


@dataclass(frozen=True)
class Resources:
    """The resources of the JVM and its child processes at one moment, after a garbage collection."""

    heap_mib: int
    direct_mib: int
    arrow_mib: int
    threads: int
    files: int
    sockets: int
    children: int


@dataclass
class GrowthReport:
    """The resources after a fifth of the work and at its end. `faults` contains all growth and all wrong results."""

    epochs: int
    queries: int
    seconds: float
    warm: dict[str, int]
    last: dict[str, int]
    faults: list[str]


def growth_soak(folder: Path, epochs: int, queries: int, say: Callable[[str], None]) -> GrowthReport:
    """Run the soak in a session and on a server of its own."""
    with LocalPulsar(data=folder / "pulsar") as server:
        builder = SparkSession.builder.master("local[2]")
        for key, value in _SETTINGS.items():
            builder = builder.config(key, value)
        spark = configure(builder, server.service_url, server.admin_url).getOrCreate()
        try:
            return grow(spark, server.service_url, folder, epochs, queries, say)
        finally:
            spark.stop()


def grow(
    spark: SparkSession,
    service_url: str,
    folder: Path,
    epochs: int,
    queries: int,
    say: Callable[[str], None],
    *,
    topic: str = "growth",
) -> GrowthReport:
    """Run at least `epochs` micro-batches and `queries` queries in `spark`, and compare the resources."""
    began = time.monotonic()
    _write(spark.range(ROWS), service_url, topic)
    _write(spark.range(epochs * _ROWS_PER_EPOCH * 2), service_url, f"{topic}-stream")
    rows = _reader(spark.read, service_url, topic).load()
    rows.createOrReplaceTempView("growth")
    stream = (
        _reader(spark.readStream, service_url, f"{topic}-stream")
        .option("startingOffsets", "earliest")
        .option("maxRecordsPerTrigger", _ROWS_PER_EPOCH)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "growth-checkpoint"))
        .start()
    )
    faults: list[str] = []
    warm = None
    try:
        for number in range(queries):
            name, query = _QUERIES[number % len(_QUERIES)]
            found = query(spark, rows)
            expected = _EXPECTED[name]
            if found != expected:
                faults.append(f"{name}: expected {expected}, got {found}")
            _await_epoch(stream, epochs * (number + 1) // queries)
            if warm is None and number >= queries // _WARM:
                warm = count_resources(spark)
                say(f"after {number + 1} queries and {_epoch(stream)} epochs: {warm}")
    finally:
        reached = _epoch(stream)
        stream.stop()
    last = count_resources(spark)
    say(f"after {queries} queries and {reached} epochs: {last}")
    assert warm is not None
    faults += growth(warm, last)
    return GrowthReport(
        reached, queries, round(time.monotonic() - began, 1), asdict(warm), asdict(last), faults
    )


def growth(warm: Resources, last: Resources) -> list[str]:
    """Return a line for each count that has grown by more than its margin."""
    before, after = asdict(warm), asdict(last)
    return [
        f"{name}: expected at most {before[name] + margin}, got {after[name]}"
        for name, margin in _MARGINS.items()
        if after[name] > before[name] + margin
    ]


def count_resources(spark: SparkSession) -> Resources:
    """Count the resources of the driver's JVM and of its child processes, after garbage collections of both."""
    gc.collect()
    jvm: Any = spark._jvm
    for _ in range(3):
        jvm.java.lang.System.gc()
        time.sleep(0.2)
    management = jvm.java.lang.management.ManagementFactory
    process = int(jvm.java.lang.ProcessHandle.current().pid())
    opened = [link for each in _family(process) for link in _links(each)]
    return Resources(
        heap_mib=management.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 20,
        direct_mib=max(0, jvm.io.netty.util.internal.PlatformDependent.usedDirectMemory()) >> 20,
        arrow_mib=jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator().getAllocatedMemory() >> 20,
        threads=sum(
            not str(each.getName()).startswith(_POOLS) for each in jvm.Thread.getAllStackTraces().keySet()
        ),
        files=len(opened),
        sockets=sum(link.startswith("socket:") for link in opened),
        children=len(_family(process)) - 1,
    )


def _family(process: int) -> list[int]:
    """Return the ids of the process and of its child processes at all levels.

    Idle Python workers are included. Spark keeps idle workers for one minute.
    """
    family = [process]
    for each in family:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                family += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return family


def _links(process: int) -> list[str]:
    """Return the targets of a process's open files. The list is empty if the process has ended."""
    links: list[str] = []
    with contextlib.suppress(OSError):
        links.extend(str(each.readlink()) for each in Path(f"/proc/{process}/fd").iterdir())
    return links


def _write(numbers: DataFrame, service_url: str, topic: str) -> None:
    rows = numbers.coalesce(1).selectExpr("id", "repeat(cast(id as string), 20) as text")
    writer = rows.write.format("pulsar").mode("append").option("service.url", service_url)
    writer.option("topic", topic).save()


def _reader(reader: Any, service_url: str, topic: str) -> Any:
    return reader.format("pulsar").option("service.url", service_url).option("topic", topic)


def _epoch(stream: Any) -> int:
    progress = stream.lastProgress
    return progress["batchId"] if progress else 0


def _await_epoch(stream: Any, epoch: int) -> None:
    """Wait for a micro-batch. Fail if the stream failed, or if no micro-batch ended for `_EPOCH_SECONDS`."""
    seen, give_up = _epoch(stream), time.monotonic() + _EPOCH_SECONDS
    while seen < epoch:
        if stream.exception() is not None:
            raise AssertionError(f"the stream has failed: {stream.exception()}")
        if time.monotonic() > give_up:
            raise AssertionError(f"no micro-batch ended within {_EPOCH_SECONDS:.0f} s after epoch {seen}")
        time.sleep(0.02)
        if _epoch(stream) > seen:
            seen, give_up = _epoch(stream), time.monotonic() + _EPOCH_SECONDS


def _python_limit(_: SparkSession, rows: DataFrame) -> Any:
    double = sf.udf(lambda number: number * 2, "bigint")
    return sorted(row[0] % 2 for row in rows.select(double("id")).limit(5).collect())


def _arrow_limit(_: SparkSession, rows: DataFrame) -> Any:
    @sf.arrow_udf("string")
    def same(texts: pa.Array) -> pa.Array:
        return texts

    return sorted(len(row[0]) for row in rows.select(same("text")).limit(7).collect())


def _cached(_: SparkSession, rows: DataFrame) -> Any:
    kept = rows.select("id", "text").cache()
    try:
        return kept.count(), kept.agg(sf.max("id")).first()[0]
    finally:
        kept.unpersist(blocking=True)


def _window(_: SparkSession, rows: DataFrame) -> Any:
    return rows.selectExpr("id", "lag(text, 5) over (order by id) as before").where("before is null").count()


def _broadcast(_: SparkSession, rows: DataFrame) -> Any:
    small = rows.where("id < 10").select("id", sf.col("text").alias("other"))
    return rows.join(sf.broadcast(small), "id").where("text = other").count()


_QUERIES: tuple[tuple[str, Callable[[SparkSession, DataFrame], Any]], ...] = (
    ("aggregate", lambda _, rows: tuple(rows.agg(sf.count("*"), sf.sum("id"), sf.max("text")).first())),
    ("python limit", _python_limit),
    ("arrow limit", _arrow_limit),
    (
        "transform",
        lambda spark, _: spark.sql("SELECT count(*), sum(length(x)) > 0 FROM (SELECT TRANSFORM(id, text) "
        "USING 'cat' AS (i STRING, x STRING) FROM growth)").first()[0],
    ),
    ("window", _window),
    ("sort", lambda _, rows: rows.orderBy(sf.desc("id")).select("id").first()[0]),
    ("cache", _cached),
    ("broadcast", _broadcast),
)  # fmt: skip
_EXPECTED = {
    "aggregate": (ROWS, ROWS * (ROWS - 1) // 2, "9999" * 20),
    "python limit": [0] * 5,
    "arrow limit": [20] * 7,
    "transform": ROWS,
    "window": 5,
    "sort": ROWS - 1,
    "cache": (ROWS, ROWS - 1),
    "broadcast": 10,
}
