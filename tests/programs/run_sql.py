"""A run of SQL scripts in one session, with the results in the form of Spark's golden files.

The same tables are then read by DataFrames and streams, into `frames.json`.

`python run_sql.py classic|connect SERVICE_URL ADMIN_URL OUTPUT_FOLDER SCRIPT...`
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import urllib.request
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar import configure, history_and_live, tier, watch
from pyspark_pulsar.errors import OptionError

# These parts differ from run to run: ports, ids, times, and the place in a plan where Spark stopped.
VARIABLE = (
    (re.compile(r"(pulsar|http)://(localhost|127\.0\.0\.1):\d+"), r"\1://SERVER"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?"), "TIME"),
    (re.compile(r"\b\d+:\d+:\d+\b"), "POSITION"),
    (re.compile(r"#\d+L?"), "#N"),
)


# Namespaces of the scripts. If a namespace gets the name of one that was just dropped, a Pulsar 4.0.8 may keep a topic
# of it closing forever.
NAMESPACE = re.compile(r"sql(?=[_-])")


def main(mode: str, service_url: str, admin_url: str, folder: str, *scripts: str) -> None:
    tables = json.dumps(
        {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/tables"}
    )
    spark = session(mode, service_url, admin_url, tables)
    try:
        for script in map(Path, scripts):
            told = "\n".join(answer(spark, statement, mode) for statement in statements(script.read_text()))
            Path(folder, script.with_suffix(".out").name).write_text(told)
            # Each script starts with the session's initial state.
            spark.sql("USE spark_catalog")
        # A server of Spark Connect shows its clients no setting that may hold a secret.
        given = {"tierCatalog": tables} if mode == "connect" else {}
        told = frames(spark, Path(folder), f"frames_{mode}") | tiered(
            spark, admin_url, f"tiered_{mode}", given
        )
        Path(folder, "frames.json").write_text(json.dumps(told))
    finally:
        spark.stop()


def session(mode: str, service_url: str, admin_url: str, tables: str) -> SparkSession:
    """Return a session with two catalogs: `pulsar`, and `tiers`, which also reads the tables of topics."""
    builder = SparkSession.builder
    builder = builder.remote("local[2]") if mode == "connect" else builder.master("local[2]")
    options = {"tierCatalog": tables}
    builder = configure(
        builder, service_url=service_url, admin_url=admin_url, catalog="tiers", options=options
    )
    builder = (
        configure(builder, service_url=service_url, admin_url=admin_url)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    return builder.getOrCreate()


def frames(spark: SparkSession, folder: Path, namespace: str) -> dict[str, object]:
    """Return the results of reading and writing the tables with DataFrames, in batches and streams."""
    spark.sql(f"CREATE NAMESPACE pulsar.public.{namespace}")
    try:
        spark.catalog.setCurrentCatalog("pulsar")
        spark.sql(f"USE public.{namespace}")
        made = spark.createDataFrame([(1, "a"), (2, "b")], "id int, name string")
        made.writeTo("numbers").tableProperty("partitions", "2").create()
        made.selectExpr("name", "id + 2 AS id", "name AS __key").writeTo("numbers").append()
        before = history_and_live(spark, "numbers")
        made.selectExpr("id + 4 AS id", "name").write.insertInto("numbers")
        made.selectExpr("id + 6 AS id", "name").write.mode("append").saveAsTable("numbers")
        spark.sql("CREATE TABLE copies (id INT, name STRING)")
        copied = spark.readStream.option("startingOffsets", "earliest").table("numbers")
        run_to_end(copied.selectExpr("id", "name", "__key"), "copies", folder / "one")
        run_to_end(before.live, "copies", folder / "two")
        made.write.saveAsTable("unsaid")
        streamed = spark.readStream.option("startingOffsets", "earliest").table("unsaid")
        writer = streamed.writeStream.option("checkpointLocation", str(folder / "three"))
        with contextlib.redirect_stdout(io.StringIO()) as told:
            watch(writer.trigger(availableNow=True).queryName("copying").toTable("unsaid_too"))
        changes = spark.readStream.option("startingVersion", "earliest").changes("unsaid")
        run_to_end(changes.select("id", "_change_type"), "changes", folder / "four")
        return {
            "watched": [text in told.getvalue() for text in ("copying: ended", "Pulsar[", "broker 1")],
            "unsaid": rows(spark.table("unsaid_too")),
            "changes": rows(spark.table("changes")),
            "columns": spark.table("numbers").columns,
            "numbers": rows(spark.table("numbers").selectExpr("id", "name", "CAST(__key AS STRING)")),
            "history": rows(before.history.select("id")),
            "copies": rows(spark.read.option("readFrom", "broker").table("copies")),
            "filtered": rows(spark.table("numbers").where("__partition < 2 AND id > 6").select("id")),
            "tables": sorted(each.name for each in spark.catalog.listTables()),
            "exists": [spark.catalog.tableExists("numbers"), spark.catalog.tableExists("nothing")],
        }
    finally:
        spark.catalog.setCurrentCatalog("spark_catalog")
        spark.sql(f"DROP NAMESPACE pulsar.public.{namespace} CASCADE")


def tiered(spark: SparkSession, admin_url: str, name: str, given: dict[str, str]) -> dict[str, object]:
    """Return the results of reads of a topic with two rows in its table, and a third row that is not in the table."""
    table = f"tiers.public.default.{name}"
    topic = f"persistent://public/default/{name}"
    spark.sql(f"CREATE TABLE {table} (id INT, name STRING)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    unload = f"{admin_url}/admin/v2/{topic.replace('://', '/')}/unload"
    urllib.request.urlopen(urllib.request.Request(unload, method="PUT"), timeout=30).close()
    if given:
        with pytest.raises(OptionError, match="Spark Connect"):
            tier(spark, table)
    tier(spark, table, **given)
    spark.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    both, alone = spark.table(table), spark.table(f"tiers.public.default.`{name}$columns`")
    with contextlib.redirect_stdout(io.StringIO()) as plan:
        both.explain()
    return {
        "tiered": rows(alone),
        "tiered_and_behind": rows(both),
        "scans": [scan in plan.getvalue() for scan in ("FileScan parquet", "BatchScan")],
    }


def run_to_end(frame: DataFrame, table: str, checkpoint: Path) -> None:
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).toTable(table).awaitTermination()


def rows(frame: DataFrame) -> list[list[object]]:
    return sorted(list(row) for row in frame.collect())


def statements(script: str) -> list[str]:
    text = "\n".join(line for line in script.splitlines() if not line.startswith("--"))
    return [each.strip() for each in text.split(";\n") if each.strip().rstrip(";")]


def answer(spark: SparkSession, statement: str, mode: str) -> str:
    """Run a statement, and return its result as text, with sorted rows unless the statement sorts them."""
    statement = statement.rstrip(";").strip()
    try:
        frame = spark.sql(NAMESPACE.sub(f"sql_{mode}", statement))
        schema, rows = frame.schema.simpleString(), rows_as_text(frame, statement)
    except PySparkException as fault:
        schema, rows = "error", [refusal(fault)]
    body = "\n".join(rows).replace(f"sql_{mode}", "sql")
    for pattern, name in VARIABLE:
        body = pattern.sub(name, body)
    return f"-- !query\n{statement}\n-- !query schema\n{schema}\n-- !query output\n{body}\n\n"


def rows_as_text(frame: DataFrame, statement: str) -> list[str]:
    rows = ["\t".join(cell(value) for value in row) for row in frame.collect()]
    keeps_order = "order by" in statement.lower() or statement.lower().startswith(("desc", "show create"))
    return rows if keeps_order else sorted(rows)


def cell(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return value.decode()
    return "NULL" if value is None else str(value)


def refusal(fault: PySparkException) -> str:
    """Return Spark's error condition, if the error has one, and the first line of the error's text without the plan."""
    condition = fault.getCondition() or ""
    said = str(fault).strip().splitlines()
    # The error of a Python worker is at the end of its traceback.
    own = [line for line in said if line.startswith("pyspark_pulsar.errors.")]
    return f"{condition}\n{(own or said)[0]}" if condition else (own or said)[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
