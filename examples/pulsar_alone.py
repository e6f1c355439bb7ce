"""The word count of `word_count_stream.py`, but with Pulsar as the only storage: offsets and state are in topics.

    python examples/pulsar_alone.py pulsar://localhost:6650 lines counts

Each count is in the result exactly once, even if processes are killed. Start the program again, on any machine: it
resumes where it ended. `--available-now` counts the present messages and ends.
"""

import argparse
import os
import sys

from pyspark.sql import SparkSession
from word_count_stream import to_topic, windowed_counts

from pyspark_pulsar import configure

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("service_url")
    arguments.add_argument("input_topic")
    arguments.add_argument("output_topic")
    arguments.add_argument("--checkpoint", default="pulsar+checkpoint://public/default/pulsar-alone")
    arguments.add_argument("--available-now", action="store_true")
    given = arguments.parse_args()
    builder = SparkSession.builder.appName("Pulsar alone").config("spark.sql.shuffle.partitions", "4")
    spark = configure(builder, given.service_url, checkpoints="rocksdb").getOrCreate()
    lines = (
        spark.readStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.input_topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = to_topic(windowed_counts(lines), given.service_url, given.output_topic, given.checkpoint)
    query = query.option("deliveryGuarantee", "exactly-once")
    if given.available_now:
        query = query.trigger(availableNow=True)
    query.start().awaitTermination()


if __name__ == "__main__":
    main()
