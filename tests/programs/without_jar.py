"""A session without the jar of this package: batch reads and writes, and a stream that stops and starts again.

    without_jar.py SERVICE_URL TOPIC FOLDER

The program prints one line of JSON: the rows, and the error of each feature that Spark 4.1 lacks. The error of a
working feature is "".
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar.spark.read_limits import SPARK_ASKS_FOR_LIMITS

ROWS = 40


def main(service_url: str, topic: str, folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")

    def read(name: str) -> list[int]:
        rows = spark.read.format("pulsar").options(**{"service.url": service_url, "topic": name}).load()
        return sorted(row["id"] for row in rows.collect())

    def stream(**options: str) -> DataFrame:
        start = {"service.url": service_url, "topic": topic, "startingOffsets": "earliest"}
        return spark.readStream.format("pulsar").options(**start, **options).load()

    def copied(frame: DataFrame, name: str, **trigger: Any) -> StreamingQuery:
        sink = {"service.url": service_url, "topic": f"{topic}-{name}", "deliveryGuarantee": "exactly-once"}
        query = frame.select("id").writeStream.format("pulsar").options(**sink)
        return query.option("checkpointLocation", str(folder / name)).trigger(**trigger).start()

    def write(first: int) -> None:
        rows = spark.range(first, first + ROWS, 1, 2).write.format("pulsar").mode("append")
        rows.options(**{"service.url": service_url, "topic": topic}).save()

    def all_there_is() -> None:
        query = copied(stream(), "copy", processingTime="0 seconds")
        query.processAllAvailable()
        query.stop()

    def available_now(name: str, **options: str) -> None:
        copied(stream(**options), name, availableNow=True).awaitTermination()

    write(0)
    told: dict[str, Any] = {"batch": read(topic)}
    all_there_is()
    write(ROWS)
    available_now("copy")
    write(2 * ROWS)
    all_there_is()
    told["stream"] = read(f"{topic}-copy")
    told["refused limit"] = refused(lambda: available_now("limited", maxRecordsPerTrigger="7"))
    if not SPARK_ASKS_FOR_LIMITS:
        spark.conf.set("spark.sql.streaming.triggerAvailableNowWrapper.enabled", "true")
        told["refused wrapper"] = refused(lambda: available_now("now"))
        told["refused again"] = refused(lambda: available_now("copy"))
    print(json.dumps(told))  # noqa: T201
    spark.stop()


def refused(action: Callable[[], Any]) -> str:
    try:
        action()
    except PySparkException as fault:
        return str(fault)
    return ""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
