"""A streaming query from topic to topic, as a process of its own that tests can kill.

    stream_to_topic.py CHECKPOINT SETTING [--available-now]

SETTING is a JSON object: the options of `source` and `sink`, and if needed Spark's `master`, more of its `conf`, and
`lame_seconds`: so long the first attempt of each epoch's first task rests when it has given half of its rows.
Values are texts.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

Batches = Iterator[pa.RecordBatch]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("checkpoint")
    arguments.add_argument("setting", type=json.loads)
    arguments.add_argument("--available-now", action="store_true")
    given = arguments.parse_args()
    setting = given.setting
    rows = (
        session(setting)
        .readStream.format("pulsar")
        .options(**setting["source"])
        .load()
        .selectExpr("cast(value as string) as value", "cast(__key as string) as __key")
    )
    if "lame_seconds" in setting:
        rows = rows.mapInArrow(lame(setting["lame_seconds"]), rows.schema)
    trigger = {"availableNow": True} if given.available_now else {"processingTime": "500 milliseconds"}
    writer = rows.writeStream.format("pulsar").options(**setting["sink"])
    writer.option("checkpointLocation", given.checkpoint).trigger(**trigger).start().awaitTermination()


def session(setting: dict[str, object]) -> SparkSession:
    builder = (
        SparkSession.builder.master(str(setting.get("master", "local[2,8]")))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    conf = setting.get("conf", {})
    assert isinstance(conf, dict)
    spark = builder.config(map=conf).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    return spark


def lame(seconds: float) -> Callable[[Batches], Batches]:
    def give(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        rests = context.partitionId() == 0 and context.attemptNumber() == 0
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half)
            if rests:
                time.sleep(seconds)
                rests = False
            yield batch.slice(half)

    return give


if __name__ == "__main__":
    main()
