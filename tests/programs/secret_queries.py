"""Reads, streams and failures of a program whose options contain secrets. A test passes the options as JSON.

The program prints everything that a user can print. In its folder, the program stores everything that other users can
see: the pages of Spark's UI, and the arguments of processes.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path

from pyspark.sql import SparkSession

from pyspark_pulsar import configure
from pyspark_pulsar.options import WriteOptions, option_fields


def main(
    options: dict[str, str], others: list[dict[str, str]], topic: str, folder: str, configured: str
) -> None:
    writing = {field.key for field in option_fields(WriteOptions).values()}
    to_write = {key: text for key, text in options.items() if key in writing}
    builder = SparkSession.builder.master("local[2]")
    spark = (
        (configure(builder, options=options) if configured else builder)
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file://{folder}/events")
        .config("spark.eventLog.compress", "false")
        .config("spark.ui.port", "0")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    # At DEBUG, Spark logs each statement unchanged.
    spark.sparkContext.setLogLevel("INFO")
    spark.range(3).selectExpr("cast(id as string) value").write.format("pulsar").options(**to_write).option(
        "topic", topic
    ).mode("append").save()
    frame = spark.read.format("pulsar").options(**options).option("topic", topic).load()
    frame.explain(extended=True)
    print(frame, frame.count())
    create_view(spark, "v", {**options, "topic": topic})
    for number, other in enumerate(others):
        try:
            create_view(spark, f"v{number}", {**options, **other, "topic": topic})
        except Exception as fault:  # noqa: BLE001 -- printed, which is the point
            print(fault)
    spark.sql("EXPLAIN EXTENDED SELECT * FROM v").show(truncate=False)
    spark.sql("CREATE TABLE t AS SELECT * FROM v")
    if configured:
        query_table(spark, f"pulsar.`public/default`.`{topic.rpartition('/')[2]}`")
    stream = spark.readStream.format("pulsar").options(**options).option("topic", topic)
    query = (
        stream.option("startingOffsets", "earliest")
        .load()
        .writeStream.format("pulsar")
        .options(**to_write)
        .option("topic", f"{topic}-2")
        .option("checkpointLocation", checkpoint_of(topic) if configured else f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    query.explain(extended=True)
    print(query.lastProgress, query.status, query)
    try:
        wrong = {**options, "topic": topic, "pulsar.client.authParam": options["pulsar.client.authParams"]}
        spark.read.format("pulsar").options(**wrong).load()
    except Exception as fault:  # noqa: BLE001
        print(fault)
    failing = frame.selectExpr("raise_error('on purpose') failed")
    try:
        failing.collect()
    except Exception as fault:  # noqa: BLE001
        print(fault)
    keep_pages(spark, Path(folder))
    keep_arguments(Path(folder))
    spark.stop()
    print("done")


def checkpoint_of(topic: str) -> str:
    """Return the address of a checkpoint in Pulsar. Only a session from `configure` can use the address."""
    return f"pulsar+checkpoint://public/default/{topic.rpartition('/')[2]}-checkpoint"


def keep_pages(spark: SparkSession, folder: Path) -> None:
    """Store the pages of Spark's UI, which everyone with access to the port can see."""
    url, application = spark.sparkContext.uiWebUrl, spark.sparkContext.applicationId
    assert url is not None
    pages = ["environment/", "SQL/", "StreamingQuery/", "jobs/"]
    pages += [f"SQL/execution/?id={number}" for number in range(12)]
    pages += [
        f"api/v1/applications/{application}/{name}" for name in ("environment", "sql?details=true", "jobs")
    ]
    for number, page in enumerate(pages):
        with urllib.request.urlopen(f"{url}/{page}", timeout=30) as answer:
            (folder / f"page-{number}").write_bytes(answer.read())


def keep_arguments(folder: Path) -> None:
    """Store the arguments of this program's child processes, which everyone on the machine can see."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family = [os.getpid()]
    for process in family:
        family += [child for child, parent in parents.items() if parent == process]
    assert len(family) > 1
    for process in family[1:]:
        try:
            arguments = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        (folder / f"arguments-{process}").write_bytes(arguments)


def query_table(spark: SparkSession, table: str) -> None:
    frame = spark.table(table).where("__partition < 5")
    frame.explain(extended=True)
    print("rows of the table:", frame.count())
    for statement in ("SET", f"DESCRIBE TABLE EXTENDED {table}", f"EXPLAIN EXTENDED SELECT * FROM {table}"):
        print([row.asDict() for row in spark.sql(statement).collect()])
    spark.sql(f"INSERT INTO {table} (value, __key) VALUES ('more', 'k')")
    try:
        spark.table(f"{table[:-1]}-not-there`")
    except Exception as fault:  # noqa: BLE001 -- printed, which is the point
        print(fault)


def create_view(spark: SparkSession, name: str, options: dict[str, str]) -> None:
    quoted = ", ".join(f"`{key}` '{text}'" for key, text in options.items())
    spark.sql(f"CREATE TEMPORARY VIEW {name} USING pulsar OPTIONS ({quoted})")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), json.loads(sys.argv[2]), *sys.argv[3:6])
