"""Speed of reading and writing one topic: this package against the official Python client, in turn.

    make bench        (or: python bench/client_side_by_side.py --rows 1000000 --repeat 3)

Each measure is repeated with the competitors in turn; the result file holds medians of wall time, rows per
second, and CPU per row of this process and its children, without the server. Absolute figures depend on the
machine: read the ratios.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

import pulsar as official
import pyarrow as pa
from kernel_build import kernel_build
from pyspark.sql import SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.tools.standalone import LocalPulsar

RESULT = Path(__file__).parent / "results" / "client_side_by_side.json"
PAYLOAD = b"0123456789" * 10


def fill(service_url: str, topic: str, rows: int, *, batched: bool) -> None:
    client = official.Client(service_url, logger=official.ConsoleLogger(official.LoggerLevel.Error))
    producer = client.create_producer(
        topic,
        batching_enabled=batched,
        batching_max_messages=1000,
        batching_max_publish_delay_ms=20,
        max_pending_messages=10_000,
        block_if_queue_full=True,
        compression_type=official.CompressionType.LZ4,
    )
    for number in range(rows):
        producer.send_async(PAYLOAD, None, partition_key=f"key-{number % 1000}", event_timestamp=1 + number)
    producer.flush()
    client.close()


def official_read(service_url: str, topic: str, rows: int) -> int:
    client = official.Client(service_url, logger=official.ConsoleLogger(official.LoggerLevel.Error))
    reader = client.create_reader(topic, official.MessageId.earliest, receiver_queue_size=20_000)
    seen = 0
    while seen < rows:
        message = reader.read_next(timeout_millis=30_000)
        message.data(), message.message_id(), message.partition_key(), message.event_timestamp()
        seen += 1
    client.close()
    return seen


def arrow_read(service_url: str, topic: str, _rows: int) -> int:
    """Read like a Spark task, without Spark."""
    options = ReadOptions(service_url=service_url, topic=topic)
    partition = TopicPartition.parse(topic)
    with BrokerClient(options) as client:
        end = LogEnds(client).ends([partition])[partition]
    schema = resolve_source_schema(options)
    split = Split(partition, EARLIEST, end, (SplitRange(EARLIEST, end, FromBroker()),))
    return sum(batch.num_rows for batch in read_split(options, schema, split))


def spark_read(spark: SparkSession, service_url: str, topic: str, rows: int) -> int:
    frame = spark.read.format("pulsar").option("service.url", service_url).option("topic", topic).load()
    frame.write.format("noop").mode("overwrite").save()
    return rows


def official_write(service_url: str, topic: str, rows: int) -> int:
    fill(service_url, topic, rows, batched=True)
    return rows


def spark_write(spark: SparkSession, service_url: str, topic: str, rows: int) -> int:
    frame = spark.range(rows, numPartitions=1).selectExpr(
        f"cast('{PAYLOAD.decode()}' as binary) as value",
        "concat('key-', id % 1000) as __key",
        "timestamp_millis(1 + id) as __eventTime",
    )
    frame.write.format("pulsar").option("service.url", service_url).option("topic", topic).mode(
        "append"
    ).save()
    return rows


def measure(work: Callable[[], int], server: int) -> dict[str, float]:
    before, started = cpu_seconds(server), time.perf_counter()
    rows = work()
    return {"rows": rows, "seconds": time.perf_counter() - started, "cpu": cpu_seconds(server) - before}


def cpu_seconds(server: int) -> float:
    """Return the user and system CPU seconds of this process and all its descendants, including ended processes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    ticks = 0
    ours = {os.getpid()}
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            processes.append((int(entry.name), int(fields[1]), sum(int(field) for field in fields[11:15])))
    grown = True
    while grown:
        children = {
            pid for pid, parent, _ in processes if parent in ours and pid not in ours and pid != server
        }
        ours |= children
        grown = bool(children)
    ticks = sum(spent for pid, _, spent in processes if pid in ours and pid != os.getpid())
    return used.ru_utime + used.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--unbatched-rows", type=int, default=50_000)
    arguments.add_argument("--repeat", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch, LocalPulsar(data=Path(scratch)) as server:
        url = server.service_url
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        batched, single = "persistent://public/default/batched", "persistent://public/default/single"
        fill(url, batched, given.rows, batched=True)
        fill(url, single, given.unbatched_rows, batched=False)
        spark_read(spark, url, single, 1)  # The first job of a session includes the start of workers.
        cases: dict[str, dict[str, Callable[[], int]]] = {
            "read, batched entries": {
                "official client": lambda: official_read(url, batched, given.rows),
                "this package, to Arrow": lambda: arrow_read(url, batched, given.rows),
                "this package, in Spark": lambda: spark_read(spark, url, batched, given.rows),
            },
            "read, unbatched entries": {
                "official client": lambda: official_read(url, single, given.unbatched_rows),
                "this package, to Arrow": lambda: arrow_read(url, single, given.unbatched_rows),
                "this package, in Spark": lambda: spark_read(spark, url, single, given.unbatched_rows),
            },
            "write, batched entries": {
                "official client": lambda: official_write(url, "public/default/w1", given.rows // 5),
                "this package, in Spark": lambda: spark_write(
                    spark, url, "public/default/w2", given.rows // 5
                ),
            },
        }
        results = {
            case: run_case(case, competitors, given.repeat, server.status().pid or 0)
            for case, competitors in cases.items()
        }
        spark.stop()
    report = {
        "command": "python bench/client_side_by_side.py " + " ".join(sys.argv[1:]),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, server on the same cores",
        "kernel": kernel_build(),
        "versions": {"python": platform.python_version(), "pyarrow": pa.__version__, "spark": "4.3.0"},
        "medians": results,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=2) + "\n")


def run_case(
    case: str, competitors: dict[str, Callable[[], int]], repeat: int, server: int
) -> dict[str, dict[str, float]]:
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in competitors}
    for _ in range(repeat):
        for name, work in competitors.items():
            runs[name].append(measure(work, server))
    medians = {}
    for name, each in runs.items():
        seconds = statistics.median(run["seconds"] for run in each)
        cpu = statistics.median(run["cpu"] for run in each)
        rows = each[0]["rows"]
        medians[name] = {
            "rows": rows,
            "seconds": round(seconds, 3),
            "rows_per_second": round(rows / seconds),
            "cpu_microseconds_per_row": round(1e6 * cpu / rows, 3),
        }
        print(
            f"{case:26} {name:26} {rows / seconds:12,.0f} rows/s {1e6 * cpu / rows:8.2f} us CPU/row",
            flush=True,
        )
    return medians


if __name__ == "__main__":
    main()
