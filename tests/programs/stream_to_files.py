"""A streaming query from a topic into parquet files, as a process of its own that tests can kill.

    stream_to_files.py SERVICE_URL TOPIC CHECKPOINT FOLDER [--available-now]

The parquet sink is exactly-once, so what the files hold is what the source delivered.
"""

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("service_url")
    arguments.add_argument("topic")
    arguments.add_argument("checkpoint")
    arguments.add_argument("folder")
    arguments.add_argument("--available-now", action="store_true")
    given = arguments.parse_args()
    spark = (
        SparkSession.builder.master("local[2,8]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows = (
        spark.readStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.topic)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("value", "cast(__key as string) as key", "__messageId as id")
    )
    query = rows.writeStream.format("parquet").option("checkpointLocation", given.checkpoint)
    if given.available_now:
        query = query.trigger(availableNow=True)
    query.start(given.folder).awaitTermination()


if __name__ == "__main__":
    main()
