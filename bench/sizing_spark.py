"""Spark's own cost beside decoding, for bench/sizing.py: a session of local[2] against one local Pulsar.

Two queries differ in one quantity: messages, bytes, tasks, topics in a task, or micro-batches. The difference of the
queries' CPU (JVM and all Python processes) is the cost of that quantity. Each runs once before it counts.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

from process_use import cpu_seconds
from pyspark.sql import DataFrame, SparkSession
from stream_server import StreamServer, stream_server

from pyspark_pulsar import configure
from pyspark_pulsar.tools.sizing.costs import Costs

_ROWS = 2_000_000
_LARGE_ROWS = 400_000
_LARGE_BYTES = 1000
_ENTRY_ROWS = 400_000
_ENTRY_MESSAGES = 10
_TASKS = 32
_TOPICS = 400
_TRIGGERS = 20
_COLUMNS = 8


def measure_spark(repeat: int) -> dict[str, float]:
    """Return the CPU seconds of each query, and the stored bytes of a message."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch) / "pulsar") as server,
    ):
        spark = _session(server)
        try:
            return _measure(spark, server, Path(scratch), repeat)
        finally:
            spark.stop()


def spark_costs(measured: dict[str, float], decoding: Costs) -> dict[str, float]:
    """Return the costs with the prefix `spark.`.

    The costs are computed from the result of `measure_spark`, and from decoding costs of the same machine.
    """
    start = measured["few"]

    def beside_decoding(name: str, rows: int, entry_messages: int) -> float:
        """Return Spark's cost of one message."""
        decoded = _decode_cpu(decoding, measured[f"message_bytes of {name}"], entry_messages)
        return (measured[name] - start) / rows - decoded

    message = beside_decoding("many", _ROWS, 1000)
    large = beside_decoding("large", _LARGE_ROWS, 1000)
    tens = beside_decoding("entries of 10", _ENTRY_ROWS, _ENTRY_MESSAGES)
    size = measured["message_bytes of many"]
    byte = max(0.0, (large - message) / (measured["message_bytes of large"] - size))
    of_size = byte * (measured["message_bytes of entries of 10"] - size)
    task = max(0.0, (measured["tasks"] - measured["many"]) / (_TASKS - 1))
    return {
        "spark.message": max(0.0, message - byte * size),
        "spark.entry": max(0.0, (tens - message - of_size) / (1 / _ENTRY_MESSAGES - 1 / 1000)),
        "spark.byte": byte,
        "spark.task": task,
        "spark.split": max(0.0, (measured["topics"] - start - 32 * task) / _TOPICS),
        "spark.trigger": max(
            0.0, (measured["micro-batches"] - measured["one micro-batch"]) / (_TRIGGERS - 1)
        ),
    }


def _decode_cpu(costs: Costs, size: float, entry_messages: int) -> float:
    cost = {part: costs.values[f"decode.AVRO.{part}"] for part in ("entry", "message", "column", "byte")}
    return cost["entry"] / entry_messages + cost["message"] + cost["column"] * _COLUMNS + cost["byte"] * size


def _session(server: StreamServer) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = configure(builder, server.service_url, server.admin_url).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _measure(spark: SparkSession, server: StreamServer, scratch: Path, repeat: int) -> dict[str, float]:
    told = {"service.url": server.service_url, "admin.url": server.admin_url}
    _write(_rows(spark, _ROWS, 12), told, "many")
    _write(_rows(spark, _LARGE_ROWS, _LARGE_BYTES), told, "large")
    _write(_rows(spark, 10, 12), told, "few")
    small = {"pulsar.producer.batchingMaxMessages": str(_ENTRY_MESSAGES)}
    _write(_rows(spark, _ENTRY_ROWS, 12), told | small, "entries-of-10")
    for number in range(_TOPICS):
        server.admin.create(f"persistent://public/default/small-{number:03}")
    named = "concat('persistent://public/default/small-', lpad(cast(id % 400 as string), 3, '0')) AS __topic"
    numbers = spark.range(0, 10 * _TOPICS, 1, 2).selectExpr(
        named, "cast(cast(id as string) as binary) AS value"
    )
    numbers.write.format("pulsar").mode("append").options(**told).save()
    whole = {"maxBytesPerPartition": str(1 << 40)}

    def read(**options: str) -> Callable[[], None]:
        def run() -> None:
            frame = spark.read.format("pulsar").options(**told, **whole, **options).load()
            values = [name for name in frame.columns if not name.startswith("__")]
            frame.select(*values).write.format("noop").mode("overwrite").save()

        return run

    def stream(name: str, **options: str) -> Callable[[], None]:
        runs = iter(range(1000))

        def run() -> None:
            checkpoint = scratch / f"{name}-{next(runs)}"
            frame = spark.readStream.format("pulsar").options(
                **told, **whole, **options, topic="many", startingOffsets="earliest"
            )
            writer = frame.load().select("c0").writeStream.format("noop")
            query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
            query.awaitTermination()

        return run

    queries: dict[str, Callable[[], None]] = {
        "few": read(topic="few"),
        "many": read(topic="many"),
        "large": read(topic="large"),
        "entries of 10": read(topic="entries-of-10"),
        "tasks": read(topic="many", minPartitions=str(_TASKS)),
        "topics": read(topicsPattern="persistent://public/default/small-.*"),
        "one micro-batch": stream("one", maxRecordsPerTrigger=str(2 * _ROWS)),
        "micro-batches": stream("some", maxRecordsPerTrigger=str(_ROWS // _TRIGGERS)),
    }
    for run in queries.values():
        run()
    took: dict[str, list[float]] = {name: [] for name in queries}
    for _ in range(repeat):
        for name, run in queries.items():
            before = _client_cpu(server)
            run()
            took[name].append(_client_cpu(server) - before)
            print(f"{name:16} {took[name][-1]:.2f} s of CPU", flush=True)
    sizes = {
        f"message_bytes of {name}": _stored(server, name.replace(" ", "-")) / rows
        for name, rows in (("many", _ROWS), ("large", _LARGE_ROWS), ("entries of 10", _ENTRY_ROWS))
    }
    return {name: statistics.median(each) for name, each in took.items()} | sizes


def _client_cpu(server: StreamServer) -> float:
    """Return the CPU seconds of Spark and all Python processes, without the server, which is also a child process."""
    return cpu_seconds(os.getpid()) - server.cpu_seconds()


def _rows(spark: SparkSession, rows: int, text_bytes: int) -> DataFrame:
    """Return rows like `made_up_rows`."""
    # Each has 88 letters, which no codec can compress; `%d` is the column.
    pieces = [
        f"base64(unhex(sha2(cast(rand(%d) + {n} as string), 512)))" for n in range(1 + text_bytes // 88)
    ]
    text = f"substr(concat({', '.join(pieces)}), 1, {text_bytes})"
    kinds = ("cast(rand(%d) * 1e12 as bigint)", text, "round(rand(%d) * 1000, 2)", "rand(%d) < 0.5")
    columns = [f"{kinds[index % 4].replace('%d', str(index))} AS c{index}" for index in range(_COLUMNS)]
    return spark.range(0, rows, 1, 2).selectExpr(*columns)


def _write(rows: DataFrame, told: dict[str, str], topic: str) -> None:
    rows.write.format("pulsar").mode("append").options(**told, topic=topic).save()


def _stored(server: StreamServer, topic: str) -> float:
    return float(server.admin.stats(f"persistent://public/default/{topic}")["storageSize"])
