"""A process that reads topics, one job for each line of JSON on standard input, and answers with its measures in JSON.

Each competitor of bench/segments.py runs in a separate process, which measures only that competitor's use.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ["PYSPARK_PYTHON"] = sys.executable

import pulsar as official
import pyarrow as pa
import pyarrow.compute as pc
from process_use import own_cpu_seconds, resident_mebibytes
from pyspark.sql import SparkSession

from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import OffsetBound
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.task.split_reader import read_split

_received = [0]


class _CountingSocket(socket.socket):
    """A socket that counts the bytes that this process receives in Python."""

    def recv(self, *arguments: Any) -> bytes:
        data = super().recv(*arguments)
        _received[0] += len(data)
        return data

    def recv_into(self, *arguments: Any) -> int:
        count = super().recv_into(*arguments)
        _received[0] += count
        return count


socket.socket = _CountingSocket  # type: ignore[misc]


def official_read(job: dict[str, Any]) -> int:
    """Run a typical loop of the official client. The loop reads each message's data and id."""
    client = official.Client(
        job["service_url"], logger=official.ConsoleLogger(official.LoggerLevel.Error), io_threads=2
    )
    reader = client.create_reader(job["topic"], official.MessageId.earliest, receiver_queue_size=job["queue"])
    rows = 0
    while rows < job["rows"]:
        message = reader.read_next(timeout_millis=60_000)
        message.data(), message.message_id()
        rows += 1
    client.close()
    return rows


def _options(job: dict[str, Any]) -> ReadOptions:
    given = dict(job.get("options", {}))
    for name in given.keys() & {"starting_offsets", "ending_offsets"}:
        given[name] = OffsetBound.parse(name, given[name])
    return ReadOptions(service_url=job["service_url"], topic=job["topic"], **given)


def _batches(options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Run the steps of Spark's driver and tasks without Spark, one split after the other."""
    splits = plan_batch(options).splits
    schema = resolve_source_schema(options)
    for split in splits:
        yield from read_split(options, schema, split)


def arrow_read(job: dict[str, Any]) -> int:
    return sum(batch.num_rows for batch in _batches(_options(job)))


def count_published(job: dict[str, Any]) -> int:
    """Count the rows of the topic published in [from_ms, before_ms) by reading all rows."""
    rows = 0
    for batch in _batches(_options(job)):
        times = batch.column("__publishTime").cast(pa.int64())  # The unit is microseconds.
        since = pc.greater_equal(times, job["from_ms"] * 1000)
        rows += pc.sum(pc.and_(since, pc.less(times, job["before_ms"] * 1000))).as_py() or 0
    return rows


class Planned:
    """A read with a plan made earlier, repeated for some seconds."""

    def __init__(self) -> None:
        self._work: list[tuple[Any, ...]] = []

    def plan(self, job: dict[str, Any]) -> int:
        options = _options(job)
        schema = resolve_source_schema(options)
        self._work = [(options, schema, split) for split in plan_batch(options).splits]
        return len(self._work)

    def read(self, job: dict[str, Any]) -> int:
        until, rows = time.monotonic() + job["seconds"], 0
        while True:
            for work in self._work:
                for batch in read_split(*work):
                    rows += batch.num_rows
                    if time.monotonic() > until:
                        return rows


class SparkReads:
    """A Spark session for all jobs. The first job includes the start of the session."""

    def __init__(self) -> None:
        self._session: SparkSession | None = None

    def read(self, job: dict[str, Any]) -> int:
        if self._session is None:
            builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
            self._session = builder.getOrCreate()
            self._session.sparkContext.setLogLevel("ERROR")
        reader = self._session.read.format("pulsar").options(**job["spark_options"])
        frame = reader.option("service.url", job["service_url"]).option("topic", job["topic"]).load()
        frame.write.format("noop").mode("overwrite").save()
        return int(job["rows"])


def main() -> None:
    planned, spark = Planned(), SparkReads()
    jobs: dict[str, Callable[[dict[str, Any]], int]] = {
        "official": official_read,
        "arrow": arrow_read,
        "spark": spark.read,
        "count": count_published,
        "plan": planned.plan,
        "read planned": planned.read,
    }
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Only measures go to standard output.
    for line in sys.stdin:
        job = json.loads(line)
        resident, received = resident_mebibytes(peak=False), _received[0]
        cpu, started = own_cpu_seconds(), time.perf_counter()
        rows = jobs[job["do"]](job)
        seconds = time.perf_counter() - started
        answer = {
            "rows": rows,
            "seconds": seconds,
            "own_cpu": own_cpu_seconds() - cpu,
            "received_bytes": _received[0] - received,
            "resident_before": resident,
            "resident_peak": resident_mebibytes(peak=True),
        }
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
