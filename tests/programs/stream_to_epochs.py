"""A streaming query into one folder of parquet files for each epoch, as a process of its own that tests can kill.

    stream_to_epochs.py CHECKPOINT FOLDER OPTIONS [--available-now]

OPTIONS is a JSON object of the source's options. Keys are texts; values begin with a number and a space. An epoch that
Spark runs again replaces its folder, so what the folders hold is what the source delivered.
"""

import argparse
import json
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("checkpoint")
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("options", type=json.loads)
    arguments.add_argument("--available-now", action="store_true")
    given = arguments.parse_args()
    spark = (
        SparkSession.builder.master("local[2,8]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("WARN")
    rows = (
        spark.readStream.format("pulsar")
        .options(**given.options)
        .load()
        .selectExpr(
            "cast(__key as string) as key",
            "cast(substring_index(cast(value as string), ' ', 1) as bigint) as number",
        )
    )

    def store(epoch: DataFrame, number: int) -> None:
        epoch.write.mode("overwrite").parquet(str(given.folder / f"epoch={number}"))

    query = rows.writeStream.foreachBatch(store).option("checkpointLocation", given.checkpoint)
    trigger = {"availableNow": True} if given.available_now else {"processingTime": "500 milliseconds"}
    query.trigger(**trigger).start().awaitTermination()


if __name__ == "__main__":
    main()
