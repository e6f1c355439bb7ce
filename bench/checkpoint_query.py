"""A query with state, for bench/checkpoint.py, in a process of its own.

The process prints the durations of micro-batches as JSON.

    checkpoint_query.py SETTING

SETTING is a JSON object: `service_url`, `checkpoint`, `master`, `conf`, and the query. The query has
`epochs` of `rows` rows, with `keys` different keys, each with `value_bytes` bytes of state.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar import configure

_POLL_SECONDS = 0.02
_DIGEST = 64


def main(setting: dict[str, Any]) -> None:
    builder = SparkSession.builder.master(setting["master"]).config(map=setting["conf"])
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = configure(builder, setting["service_url"], checkpoints="rocksdb").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    begin = time.monotonic()
    query = started(spark, setting)
    first = awaited(query, 1) - begin
    awaited(query, setting["epochs"])
    progress = [each for each in query.recentProgress if each["numInputRows"]]
    query.stop()
    durations = [each["durationMs"] for each in progress]
    print(json.dumps({"first_seconds": first, "epochs": durations}))
    spark.stop()


def started(spark: SparkSession, setting: dict[str, Any]) -> StreamingQuery:
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", setting["rows"])
        .option("numPartitions", 2)
        .load()
    )
    copies = max(1, setting["value_bytes"] // _DIGEST)
    state = f"repeat(sha2(cast(value as string), 256), {copies})"
    return (
        rows.selectExpr(f"value % {setting['keys']} as key", f"{state} as text")
        .groupBy("key")
        .agg({"text": "max", "*": "count"})
        .writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", setting["checkpoint"])
        .start()
    )


def awaited(query: StreamingQuery, epochs: int) -> float:
    """Wait until `epochs` micro-batches of this run have ended, and return the moment."""
    while sum(each["numInputRows"] > 0 for each in query.recentProgress) < epochs:
        if not query.isActive:
            raise RuntimeError(str(query.exception()))
        time.sleep(_POLL_SECONDS)
    return time.monotonic()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
