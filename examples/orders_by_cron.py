"""Copy the messages that arrived since the last run from one topic to another, each message exactly once.

    python examples/orders_by_cron.py pulsar://localhost:6650 orders orders-copy --checkpoint /jobs/checkpoint

Start the program regularly with cron or any other scheduler. The checkpoint contains the end of the last run. The exit
code is 0 when all messages that existed at the start are written. It is 1 after an error, which is on standard error.
"""

import argparse
import os
import sys

from pyspark.sql import SparkSession

from pyspark_pulsar import configure

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("service_url")
    arguments.add_argument("input_topic")
    arguments.add_argument("output_topic")
    arguments.add_argument("--checkpoint", required=True)
    given = arguments.parse_args()
    spark = configure(SparkSession.builder.appName("orders by cron"), given.service_url).getOrCreate()
    query = (
        spark.readStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.input_topic)
        .option("startingOffsets", "earliest")
        .option("maxBytesPerTrigger", 1 << 30)
        .load()
        .writeStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.output_topic)
        .option("deliveryGuarantee", "exactly-once")
        .option("checkpointLocation", given.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
