"""A streaming query from a topic into a topic, exactly-once, as a process of its own that tests can kill.

    stream_to_topic.py SOURCE_URL SOURCE_TOPIC SINK_URL SINK_TOPIC CHECKPOINT

Each micro-batch holds at most a few hundred rows; ends when it has caught up.
"""

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    arguments = argparse.ArgumentParser()
    for name in ("source_url", "source_topic", "sink_url", "sink_topic", "checkpoint"):
        arguments.add_argument(name)
    given = arguments.parse_args()
    spark = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows = (
        spark.readStream.format("pulsar")
        .option("service.url", given.source_url)
        .option("topic", given.source_topic)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("cast(value as string) as value", "__key")
    )
    (
        rows.writeStream.format("pulsar")
        .option("service.url", given.sink_url)
        .option("topic", given.sink_topic)
        .option("deliveryGuarantee", "exactly-once")
        .option("checkpointLocation", given.checkpoint)
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


if __name__ == "__main__":
    main()
