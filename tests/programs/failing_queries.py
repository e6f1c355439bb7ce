"""Queries that fail in a user's program: `failing_queries.py HOW SERVICE_URL TOPIC`.

The program prints a line of JSON for each query. The line contains the text of the error, and the output of
`sys.excepthook` for the error. The program does not catch the last error.

HOW is `configured` (with the jar), `plain` (without the jar), or `connect` (Spark Connect). TOPIC contains a message
that does not fit the topic's schema.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any

from pyspark.sql import SparkSession

import pyspark_pulsar

how, service_url, topic = sys.argv[1:]
folder = tempfile.mkdtemp()
NAMED_NOWHERE = "persistent://public/nowhere/t"


def session() -> SparkSession:
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    if how == "plain":
        assert pyspark_pulsar.install_error_hook()
        return builder.master("local[1]").getOrCreate()
    builder = builder.remote("local[1]") if how == "connect" else builder.master("local[1]")
    return pyspark_pulsar.configure(builder, service_url).getOrCreate()


spark = session()


def reader(stream: bool = False, **options: str) -> Any:
    source = spark.readStream if stream else spark.read
    return source.format("pulsar").options(**{"service.url": service_url, "topic": topic, **options})


def writer(**options: str) -> Any:
    frame = spark.range(3).selectExpr("cast(id as string) value", f"'{NAMED_NOWHERE}' __topic")
    return frame.write.format("pulsar").options(**{"service.url": service_url, **options})


def run_stream() -> None:
    rows = reader(stream=True, startingOffsets="earliest").load()
    query = rows.writeStream.format("noop").option("checkpointLocation", f"{folder}/read").start()
    query.awaitTermination()


def refused_stream() -> Any:
    """Start a stream with a wrong option. With `.schema(...)`, the options are checked only when the stream starts."""
    source = spark.readStream.schema("id int").format("pulsar")
    rows = source.options(**{"service.url": service_url, "topic": topic, "startingOffset": "earliest"}).load()
    return rows.writeStream.format("noop").option("checkpointLocation", f"{folder}/refused").start()


def run_sink() -> None:
    rows = reader(stream=True, startingOffsets="earliest", mode="DROPMALFORMED").load()
    named = rows.selectExpr("cast(id as string) value", f"'{NAMED_NOWHERE}' __topic")
    sink = named.writeStream.format("pulsar").option("service.url", service_url)
    sink.option("checkpointLocation", f"{folder}/write").start().awaitTermination()


def sql(text: str) -> Callable[[], Any]:
    return lambda: spark.sql(text).collect()


QUERIES: dict[str, Callable[[], Any]] = {
    "batch, planned": lambda: reader(startingOffset="earliest").load().schema,
    "batch, planned late": lambda: reader(startingOffsets=json.dumps({topic: "999999:0"})).load().collect(),
    "batch, in a task": lambda: reader().load().collect(),
    "stream, planned": lambda: reader(stream=True, startingOffset="earliest").load().schema,
    "stream, started": lambda: refused_stream().awaitTermination(),
    "stream, in a task": run_stream,
    "write, planned": lambda: writer(zzz="1").mode("append").save(),
    "write, overwriting": lambda: writer(topic=topic).mode("overwrite").save(),
    "write, in a task": lambda: writer().mode("append").save(),
    "sink, in a task": run_sink,
}
OF_A_CATALOG: dict[str, Callable[[], Any]] = {
    "sql, planned": sql("SELECT * FROM pulsar.`public/default`.`nowhere`"),
    "sql, in a task": sql(f"SELECT * FROM pulsar.`public/default`.`{topic.rpartition('/')[2]}`"),
    "sql, a statement": sql("CREATE TABLE pulsar.`public/default`.t (id INT)"),
}


def outcome_of(query: Callable[[], Any]) -> dict[str, Any]:
    try:
        query()
    except Exception as error:  # noqa: BLE001 -- whatever the user gets
        shown = io.StringIO()
        with redirect_stderr(shown):
            sys.excepthook(type(error), error, error.__traceback__)
        return {"kind": type(error).__name__, "text": str(error), "shown": shown.getvalue()}
    return {"kind": None}


for name, query in {**QUERIES, **(OF_A_CATALOG if how != "plain" else {})}.items():
    print(json.dumps({"query": name, **outcome_of(query)}), flush=True)  # noqa: T201
print(json.dumps({"query": "uncaught"}), flush=True)  # noqa: T201
print("UNCAUGHT", file=sys.stderr, flush=True)  # noqa: T201
QUERIES["batch, in a task"]()
