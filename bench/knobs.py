"""Effects of the main options: each option in turn at two or three values, with all other options at their defaults.

    make bench        (or: python bench/knobs.py --rows 1000000 --repeat 3; then make docs)

- reading: one topic partition of `--rows` rows with 10 columns, Avro, LZ4, entries of up to 1000 rows, in ten closed
  ledgers. A second topic has a twentieth of the rows, in entries of 10 rows, in its open ledger. Batches read all
  columns to Spark's sink `noop`, unless the table names another query.
- streams: the first topic, with Trigger.AvailableNow.
- writing: as many rows of the same columns, made by Spark, to a new topic each time.

The values of an option take turns in one Spark session of two cores; the first round is not counted. The result file
holds medians of whole queries. Pulsar runs on the same cores: read the ratios. If the file records a loaded machine,
read only large ratios. docs/tuning.md shows the file as a table.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from competitor import Measures, medians
from process_use import cpu_seconds
from pyspark.sql import DataFrame, SparkSession
from run_report import arguments, new_report, write_report
from stream_server import StreamServer, stream_server

import pyspark_pulsar

LEDGERS = 10
_SMALL = 20
_COLUMNS = (
    "id",
    "id % 1000 AS customer",
    "concat('item ', id % 50) AS item",
    "concat('city ', id % 20) AS city",
    "id * 0.25D AS price",
    "int(id % 7) AS quantity",
    "id % 2 = 0 AS paid",
    "timestamp_micros(1790000000000000 + id * 1000) AS happened",
    "sha2(string(id), 256) AS note",
    "hash(id) AS score",
    "string(id % 10000) AS __key",
)

Options = Mapping[str, Any]
Run = Callable[[str], Measures | None]


@dataclass(frozen=True)
class Knob:
    """An option, or a setting of Spark; `run` measures one of its `values`, which begin with the default."""

    name: str
    case: str
    values: tuple[str, ...]
    run: Run


@dataclass(frozen=True)
class Bench:
    """The topics, and the reads and writes that measure the options."""

    spark: SparkSession
    server: StreamServer
    rows: int
    scratch: Path
    large: str = "persistent://public/default/knobs-large"
    small: str = "persistent://public/default/knobs-small"
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def connection(self) -> dict[str, str]:
        return {"service.url": self.server.service_url, "admin.url": self.server.admin_url}

    def fill(self) -> datetime:
        """Fill the two topics, and return the publish time at which the last tenth of the large topic begins."""
        for topic in (self.large, self.small):
            self.server.create(topic, 1)
            self.server.keep(topic)
        begun = datetime.now().astimezone()
        share = self.rows // LEDGERS
        for start in range(0, share * LEDGERS, share):
            begun = datetime.now().astimezone()
            self.save(self.made(start, start + share), {"topic": self.large})
            self.server.close_ledger(self.large)
        few = self.made(0, self.rows // _SMALL)
        self.save(few, {"topic": self.small, "pulsar.producer.batchingMaxMessages": 10})
        return begun

    def made(self, start: int, end: int) -> DataFrame:
        return self.spark.range(start, end, 1, 2).selectExpr(*_COLUMNS)

    def save(self, rows: DataFrame, options: Options) -> None:
        rows.write.format("pulsar").options(**self.connection).options(**options).mode("append").save()

    def load(self, topic: str, options: Options, *, admin: bool = True) -> DataFrame:
        reader = self.spark.read.format("pulsar").option("service.url", self.server.service_url)
        if admin:
            reader = reader.option("admin.url", self.server.admin_url)
        return reader.option("topic", topic).options(**options).load()

    def read(self, topic: str, options: Options, *, admin: bool = True, where: str = "true") -> None:
        _drain(self.load(topic, options, admin=admin).where(where))

    def largest_values(self, options: Options) -> None:
        """Run an aggregate. Aggregates read columns directly, but the sink `noop` converts columns to rows."""
        rows = self.load(self.large, options)
        values = [name for name in rows.columns if not name.startswith("__")]
        _drain(rows.agg(dict.fromkeys(values, "max")))

    def stream(self, options: Options) -> None:
        query = (
            self.spark.readStream.format("pulsar")
            .options(**self.connection, topic=self.large, startingOffsets="earliest")
            .options(**options)
            .load()
            .writeStream.format("noop")
            .option("checkpointLocation", str(self.scratch / f"checkpoint-{next(self.numbers)}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    def write(self, options: Options, rows: int) -> Measures:
        """Write to a new topic, and return the bytes that the topic stores."""
        topic = f"persistent://public/default/knobs-out-{next(self.numbers)}"
        self.server.create(topic, 1)
        self.save(self.made(0, rows), {"topic": topic, **options})
        ledgers = pyspark_pulsar.segments(self.spark, **self.connection, topic=topic)
        return {"bytes": float(ledgers.agg({"bytes": "sum"}).first()[0] or 0)}

    def write_by_blocks(self, size: str) -> None:
        name = "spark.sql.execution.arrow.maxRecordsPerBatch"
        self.spark.conf.set(name, size)
        try:
            self.write({}, self.rows)
        finally:
            self.spark.conf.unset(name)


def _drain(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def reading(bench: Bench, last_tenth: datetime) -> list[Knob]:
    since = last_tenth.isoformat()
    recent = f"__publishTime >= timestamp'{since}'"
    one_task = {"maxBytesPerPartition": 1 << 40}

    def run_of(topic: str, option: str, **more: Any) -> Run:
        return lambda value: bench.read(topic, {option: value, **more})

    return [
        Knob("readFrom", "closed ledgers", ("auto", "broker"), run_of(bench.large, "readFrom")),
        Knob(
            "admin.url",
            "the last tenth, by startingTimestamp",
            ("without", "with"),
            lambda value: bench.read(bench.large, {"startingTimestamp": since}, admin=value == "with"),
        ),
        Knob(
            "pushFilters",
            "the last tenth, by a filter on __publishTime",
            ("true", "false"),
            lambda value: bench.read(bench.large, {"pushFilters": value}, where=recent),
        ),
        Knob(
            "columns",
            "",
            ("*", "id,price"),
            lambda value: bench.read(bench.large, {"columns": value}),
        ),
        Knob(
            "columnarReads",
            "the largest value of each column",
            ("true", "false"),
            lambda value: bench.largest_values({"columnarReads": value}),
        ),
        Knob("batchRows", "", ("16384", "1000", "65536"), run_of(bench.large, "batchRows")),
        Knob(
            "minPartitions",
            "two cores, no cuts by size",
            ("1", "2", "16"),
            run_of(bench.large, "minPartitions", **one_task),
        ),
        Knob(
            "splitBy", "minPartitions=4", ("position", "key"), run_of(bench.large, "splitBy", minPartitions=4)
        ),
        Knob("consumersPerSplit", "entries of 10", ("4", "1"), run_of(bench.small, "consumersPerSplit")),
        Knob(
            "pulsar.consumer.receiverQueueSize",
            "entries of 10",
            ("50000", "1000", "100"),
            run_of(bench.small, "pulsar.consumer.receiverQueueSize"),
        ),
    ]


def streams(bench: Bench) -> list[Knob]:
    return [
        Knob(
            "maxRecordsPerTrigger",
            "a stream that catches up",
            ("none", f"{bench.rows // 2}", f"{bench.rows // 10}"),
            lambda value: bench.stream({} if value == "none" else {"maxRecordsPerTrigger": value}),
        ),
        Knob(
            "maxBytesPerPartition",
            "a stream that catches up",
            ("67108864", "1099511627776", "4194304"),
            lambda value: bench.stream({"maxBytesPerPartition": value}),
        ),
    ]


def writing(bench: Bench) -> list[Knob]:
    def run_of(option: str, rows: int) -> Run:
        return lambda value: bench.write({option: value}, rows)

    few = bench.rows // _SMALL
    return [
        Knob(
            "pulsar.producer.compressionType",
            "",
            ("LZ4", "NONE", "SNAPPY", "ZSTD", "ZLIB"),
            run_of("pulsar.producer.compressionType", bench.rows),
        ),
        Knob(
            "pulsar.producer.batchingMaxMessages",
            "",
            ("1000", "100", "10"),
            run_of("pulsar.producer.batchingMaxMessages", bench.rows),
        ),
        Knob(
            "pulsar.producer.batchingEnabled",
            "a twentieth of the rows",
            ("true", "false"),
            run_of("pulsar.producer.batchingEnabled", few),
        ),
        Knob("batching", "a twentieth of the rows", ("default", "key"), run_of("batching", few)),
        Knob(
            "deliveryGuarantee",
            "",
            ("at-least-once", "exactly-once"),
            run_of("deliveryGuarantee", bench.rows),
        ),
        Knob(
            "spark.sql.execution.arrow.maxRecordsPerBatch",
            "a write",
            ("10000", "1000", "100000"),
            bench.write_by_blocks,
        ),
    ]


def measured(knob: Knob, server: StreamServer, repeat: int) -> dict[str, Any]:
    """Return medians for each value; the values take turns."""
    runs: dict[str, list[Measures]] = {value: [] for value in knob.values}
    for turn in range(repeat + 1):
        for value in knob.values:
            servers, all_of_us, start = server.cpu_seconds(), _spent(server), time.perf_counter()
            more = knob.run(value) or {}
            taken = {
                "seconds": time.perf_counter() - start,
                "cpu": _spent(server) - all_of_us,
                "server_cpu": server.cpu_seconds() - servers,
            }
            if turn:
                runs[value].append(taken | more)
    values = {
        value: {key: round(got, 3) for key, got in medians(found).items()} for value, found in runs.items()
    }
    print(knob.name, {value: got["seconds"] for value, got in values.items()}, flush=True)
    return {"knob": knob.name, "case": knob.case, "values": values}


def _spent(server: StreamServer) -> float:
    """Return the CPU seconds of this process and its descendants, without the server's."""
    ours = cpu_seconds(os.getpid())
    return ours - server.cpu_seconds() if _is_below(server.pid) else ours


def _is_below(process: int) -> bool:
    while process > 1 and process != os.getpid():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process == os.getpid()


def session(server: StreamServer) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = pyspark_pulsar.configure(builder, server.service_url, server.admin_url).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    parser = arguments(__doc__, "reading,streams,writing", "knobs.json")
    parser.add_argument("--rows", type=int, default=1_000_000)
    given: argparse.Namespace = parser.parse_args()
    report = new_report(__file__) | {"rows": given.rows, "repeat": given.repeat, "knobs": []}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch) / "pulsar") as server,
    ):
        bench = Bench(session(server), server, given.rows, Path(scratch))
        last_tenth = bench.fill()
        sections = {
            "reading": lambda: reading(bench, last_tenth),
            "streams": lambda: streams(bench),
            "writing": lambda: writing(bench),
        }
        for section in given.only.split(","):
            for knob in sections[section]():
                report["knobs"].append({"section": section, **measured(knob, server, given.repeat)})
                write_report(report, given.result)
        bench.spark.stop()


if __name__ == "__main__":
    main()
