"""Streaming queries with state and with checkpoints in Pulsar, in a process of its own that tests can kill.

    stream_with_state.py SETTING [--available-now | --rounds]

SETTING is a JSON object with `cluster` (the options of `configure`) and `queries`. Spark's `master` and the session's
`conf` are optional. Each query is an object with `checkpoint`, the options `source` and `sink`, and an optional `conf`,
which is set before the query starts.

Each query drops the repeated numbers of its source, and writes all other numbers to its sink. By default, the sink
writes exactly once. A row is a JSON object with `number` and `part`, which is the state partition of the number. The
numbers of each `part` keep their order.

With `--rounds`, each line on standard input starts a round, in which all queries read the present messages. The program
then prints the outcome of the round in a line that begins with ROUND.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from killable import ROUND, STARTED
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar import configure


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("setting")
    parser.add_argument("--available-now", action="store_true")
    parser.add_argument("--rounds", action="store_true")
    given = parser.parse_args()
    setting = json.loads(given.setting)
    spark = session(setting)
    if given.rounds:
        run_rounds(spark, setting["queries"])
        return
    queries = [started(spark, query, available_now=given.available_now) for query in setting["queries"]]
    print(STARTED, flush=True)  # noqa: T201
    while any(query.isActive for query in queries):
        time.sleep(0.1)
    failed = [query.exception() for query in queries]
    for fault in filter(None, failed):
        print(f"a query failed: {fault}", flush=True)  # noqa: T201
    spark.stop()
    sys.exit(1 if any(failed) else 0)


def run_rounds(spark: SparkSession, queries: list[dict[str, Any]]) -> None:
    print(STARTED, flush=True)  # noqa: T201
    for _ in sys.stdin:
        outcome: dict[str, Any] = {"failed": None}
        try:
            for query in [started(spark, each, available_now=True) for each in queries]:
                query.awaitTermination()
        except Exception as fault:  # noqa: BLE001 -- told to whoever runs the rounds
            outcome["failed"] = str(fault)[:2000]
        print(f"{ROUND}{json.dumps(outcome)}", flush=True)  # noqa: T201
    spark.stop()


def session(setting: dict[str, Any]) -> SparkSession:
    builder = (
        SparkSession.builder.master(setting.get("master", "local[2]"))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
    )
    spark = configure(builder.config(map=setting.get("conf", {})), options=setting["cluster"]).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    return spark


def started(spark: SparkSession, query: dict[str, Any], *, available_now: bool) -> StreamingQuery:
    for key, value in query.get("conf", {}).items():
        spark.conf.set(key, value)
    trigger = {"availableNow": True} if available_now else {"processingTime": "100 milliseconds"}
    rows = spark.readStream.format("pulsar").options(**query["source"]).load()
    return (
        first_times(rows)
        .writeStream.format("pulsar")
        .options(**{"deliveryGuarantee": "exactly-once", **query["sink"]})
        .option("checkpointLocation", query["checkpoint"])
        .trigger(**trigger)
        .start()
    )


def first_times(rows: DataFrame) -> DataFrame:
    numbers = rows.selectExpr("cast(cast(value as string) as long) as number")
    return numbers.dropDuplicates(["number"]).selectExpr(
        "to_json(named_struct('number', number, 'part', spark_partition_id())) as value"
    )


if __name__ == "__main__":
    main()
