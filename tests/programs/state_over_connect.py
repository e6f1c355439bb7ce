"""A query with `transformWithState` over Spark Connect, with its checkpoint in Pulsar. The query starts three times.

    state_over_connect.py SERVICE_URL TOPIC CHECKPOINT

The program writes texts to TOPIC before each start. Each micro-batch writes the length of the longest text of each key
to TOPIC-longest. The program prints a JSON object: `rows` contains the rows of TOPIC-longest in order. `state` contains
the rows of the state variable, as the source `statestore` reads them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from pyspark_pulsar import configure


class Longest(StatefulProcessor):
    """A processor whose state is the length of the longest text of each key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._longest = handle.getValueState("longest", "longest int")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        found = max(len(row.text) for row in rows)
        if self._longest.exists():
            found = max(found, self._longest.get()[0])
        self._longest.update((found,))
        yield Row(key=key[0], longest=found)

    def close(self) -> None:
        pass


def main(service_url: str, topic: str, checkpoint: str) -> None:
    builder = configure(SparkSession.builder.remote("local[2]"), service_url, checkpoints="rocksdb")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = builder.getOrCreate()
    try:
        for length in (3, 5, 4):
            texts = [(f"k{key}", "x" * (length + key)) for key in range(3)]
            frame = spark.createDataFrame(texts, "__key string, value string")
            given = {"service.url": service_url, "topic": topic}
            frame.write.format("pulsar").options(**given).mode("append").save()
            run(spark, service_url, topic, checkpoint)
        written = (
            spark.read.format("pulsar").option("service.url", service_url).option("topic", f"{topic}-longest")
        )
        rows = [row.value for row in written.load().orderBy("__messageId").collect()]
        value = spark.read.format("statestore").option("stateVarName", "longest").load(checkpoint)
        state = value.selectExpr("key.key as key", "value.longest as longest").collect()
        print(json.dumps({"rows": rows, "state": {row.key: row.longest for row in state}}))  # noqa: T201
    finally:
        spark.stop()


def run(spark: SparkSession, service_url: str, topic: str, checkpoint: str) -> None:
    stream = spark.readStream.format("pulsar").option("service.url", service_url).option("topic", topic)
    rows = stream.option("startingOffsets", "earliest").load()
    query = (
        rows.selectExpr("cast(__key as string) as key", "value as text")
        .groupBy("key")
        .transformWithState(
            Longest(), outputStructType="key string, longest int", outputMode="Append", timeMode="None"
        )
        .selectExpr("concat(key, ' ', longest) as value", "key as __key")
        .writeStream.format("pulsar")
        .option("service.url", service_url)
        .option("topic", f"{topic}-longest")
        .option("deliveryGuarantee", "exactly-once")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:4])
