"""A batch that counts the words of all lines in a topic, and writes the result to another topic.

python examples/word_count_batch.py pulsar://localhost:6650 lines totals
"""

import argparse
import os
import sys

from pyspark.sql import SparkSession, functions as F
from word_count_stream import words_of

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("service_url")
    arguments.add_argument("input_topic")
    arguments.add_argument("output_topic")
    given = arguments.parse_args()
    spark = SparkSession.builder.appName("word count, batch").getOrCreate()
    lines = (
        spark.read.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.input_topic)
        .load()
    )
    totals = words_of(lines).groupBy("word").agg(F.count("*").alias("cnt"))
    (
        totals.select(F.col("word").alias("__key"), "word", "cnt")
        .write.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.output_topic)
        .mode("append")
        .save()
    )


if __name__ == "__main__":
    main()
