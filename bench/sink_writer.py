"""A process that writes rows.

The process runs one job for each line of JSON on standard input, and answers with the job's measures in JSON."""

import io
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["PYSPARK_PYTHON"] = sys.executable

import fastavro
import orjson
import pulsar as official
import pulsar.schema as official_schema
import pyarrow as pa
import pyarrow.parquet as pq
from process_use import own_cpu_seconds
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from pyspark_pulsar import configure

EPOCH_ROWS = 100_000
FILE_ROWS = EPOCH_ROWS // 2
"""The rows in a file: with this number, the smallest epochs have a task for each of the two cores."""
_MOST_BYTES, _NOT_MEASURED = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)
_SECOND = 1_800_000_000
_KEYS = 1000

Job = dict[str, Any]
Answer = dict[str, Any]


def row_of(number: int) -> dict[str, Any]:
    """Return a row of six fields; all competitors get the same row for a number."""
    return {
        "id": number,
        "customer": f"customer-{number * 7919 % 100_000:06d}",
        "amount": number % 100_000 / 100,
        "at": (_SECOND + number) * 1000,
        "tag": f"tag-{number % 50}",
        "paid": number % 2 == 0,
    }


def json_of(number: int) -> bytes:
    return orjson.dumps(row_of(number))


def avro_of(number: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _AVRO, row_of(number))
    return out.getvalue()


class Order(official_schema.Record):  # type: ignore[misc]
    id = official_schema.Long(required=True)
    customer = official_schema.String(required=True)
    amount = official_schema.Double(required=True)
    at = official_schema.Long(required=True)
    tag = official_schema.String(required=True)
    paid = official_schema.Boolean(required=True)


_AVRO = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": name, "type": kind}
            for name, kind in {
                "id": "long",
                "customer": "string",
                "amount": "double",
                "at": "long",
                "tag": "string",
                "paid": "boolean",
            }.items()
        ],
    }
)


def write_files(folder: Path, rows: int) -> None:
    """Write Parquet files of `FILE_ROWS` rows, with keys."""
    folder.mkdir()
    for start in range(0, rows, FILE_ROWS):
        numbers = range(start, start + FILE_ROWS)
        columns = pa.Table.from_pylist([row_of(number) for number in numbers]).append_column(
            "__key", pa.array([f"key-{number % _KEYS}" for number in numbers])
        )
        pq.write_table(columns, folder / f"{start:09d}.parquet")


def official_write(job: Job) -> Answer:
    """Send one record of the client's schema classes for each row, encoded by the client."""
    schemas = {"json": official_schema.JsonSchema, "avro": official_schema.AvroSchema}
    return _send(job, schemas[job["format"]](Order), lambda number: Order(**row_of(number)))


def official_bytes(job: Job) -> Answer:
    """Send the same bytes without the client's schemas, as users do for speed."""
    return _send(job, official_schema.BytesSchema(), {"json": json_of, "avro": avro_of}[job["format"]])


def _send(job: Job, schema: Any, content: Callable[[int], Any]) -> Answer:
    client = official.Client(job["service_url"], logger=official.ConsoleLogger(official.LoggerLevel.Error))
    producer = client.create_producer(
        job["topic"],
        schema=schema,
        batching_enabled=True,
        batching_max_messages=job["messages"],
        batching_max_allowed_size_in_bytes=job["bytes"],
        batching_max_publish_delay_ms=10,
        max_pending_messages=20_000,
        block_if_queue_full=True,
        compression_type=official.CompressionType.LZ4,
    )
    failed: list[object] = []
    received = 0

    def note(result: object, _: object) -> None:
        nonlocal received
        received += 1
        if result != official.Result.Ok:
            failed.append(result)

    for number in range(job["rows"]):
        producer.send_async(content(number), note, partition_key=f"key-{number % _KEYS}")
    producer.flush()
    give_up = time.monotonic() + 30
    while received < job["rows"]:
        assert time.monotonic() < give_up, received
        time.sleep(0.001)
    client.close()
    assert not failed, failed[:3]
    return {"rows": received}


class ToNowhere(DataSource):
    """A sink that drops rows, which shows Spark's own cost of a sink in Python."""

    @classmethod
    def name(cls) -> str:
        return "nowhere"

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002 -- Spark's names
        return ThrowsAway()


class ThrowsAway(DataSourceArrowWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


class Session:
    """A Spark session for all jobs. The first job includes the start of the session."""

    def __init__(self) -> None:
        self._made: SparkSession | None = None

    def _session(self, job: Job) -> SparkSession:
        if self._made is None:
            builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
            builder = configure(builder, job["service_url"])
            self._made = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
            self._made.sparkContext.setLogLevel("ERROR")
            self._made.dataSource.register(ToNowhere)
        return self._made

    def nowhere(self, job: Job) -> Answer:
        """Write to the sink that drops rows.

        With `measured`, Spark checks the size of a record batch after every row, which is Spark's default.
        """
        session = self._session(job)
        if not job["measured"]:
            session.conf.set(_MOST_BYTES, _NOT_MEASURED)
        try:
            session.read.parquet(job["files"]).write.format("nowhere").mode("append").save()
        finally:
            session.conf.unset(_MOST_BYTES)
        return {"rows": job["rows"]}

    def batch(self, job: Job) -> Answer:
        frame = self._session(job).read.parquet(job["files"])
        frame.write.format("pulsar").options(**self._options(job)).mode("append").save()
        return {"rows": job["rows"]}

    def stream(self, job: Job) -> Answer:
        """Write a stream with epochs of `epoch_rows` rows.

        `epoch_milliseconds` is the median of all epochs but the first."""
        session = self._session(job)
        files = job["epoch_rows"] // FILE_ROWS
        stream = session.readStream.schema(session.read.parquet(job["files"]).schema)
        frame = stream.option("maxFilesPerTrigger", files).parquet(job["files"])
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = frame.writeStream.format(job["sink"]).options(**self._options(job))
            query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
            query.awaitTermination()
            progress = [each for each in query.recentProgress if each.numInputRows]
        spent = [each.durationMs["triggerExecution"] for each in progress]
        return {
            "rows": sum(each.numInputRows for each in progress),
            "epoch_milliseconds": statistics.median(spent[1:] or spent),
        }

    def _options(self, job: Job) -> dict[str, str]:
        return {
            "service.url": job["service_url"],
            "topic": job["topic"],
            "valueFormat": job["format"],
            "deliveryGuarantee": job["guarantee"],
        }


def main() -> None:
    session = Session()
    jobs: dict[str, Callable[[Job], Answer]] = {
        "official": official_write,
        "official bytes": official_bytes,
        "batch": session.batch,
        "stream": session.stream,
        "nowhere": session.nowhere,
    }
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Only measures go to standard output.
    for line in sys.stdin:
        job = json.loads(line)
        cpu, started = own_cpu_seconds(), time.perf_counter()
        answer = jobs[job["do"]](job)
        answer["seconds"] = time.perf_counter() - started
        answer["own_cpu"] = own_cpu_seconds() - cpu
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
