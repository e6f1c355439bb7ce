"""Count the strings of a topic per word in 5-second windows of event time, and write to a topic keyed by word.

    python examples/word_count_stream.py pulsar://localhost:6650 lines counts

The program runs until it is interrupted. `--available-now` counts the present messages and ends. Start it again with
the same `--checkpoint`: it resumes where it ended.
"""

import argparse
import os
import sys

from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.streaming import DataStreamWriter

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def words_of(lines: DataFrame) -> DataFrame:
    """Return a row for each word of `value`, in lower case, with the event time of its line as `ts`."""
    split = F.split(F.lower("value"), r"[^\p{L}\p{N}]+")
    return lines.select(F.explode(split).alias("word"), F.col("__eventTime").alias("ts")).where("word <> ''")


def windowed_counts(lines: DataFrame) -> DataFrame:
    """Return the columns `__key` (the word, which routes the row), `word`, `window_start` and `cnt`."""
    return (
        words_of(lines.withWatermark("__eventTime", "2 seconds"))
        .groupBy(F.window("ts", "5 seconds"), "word")
        .agg(F.count("*").alias("cnt"))
        .select(F.col("word").alias("__key"), "word", F.col("window.start").alias("window_start"), "cnt")
    )


def to_topic(counts: DataFrame, service_url: str, topic: str, checkpoint: str) -> DataStreamWriter:
    """Return a writer of a row for each word and window, which is written when the window closes."""
    return (
        counts.writeStream.format("pulsar")
        .option("service.url", service_url)
        .option("topic", topic)
        .option("checkpointLocation", checkpoint)
        .outputMode("append")
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("service_url")
    arguments.add_argument("input_topic")
    arguments.add_argument("output_topic")
    arguments.add_argument("--checkpoint", default="checkpoints/word-count-stream")
    arguments.add_argument("--available-now", action="store_true")
    given = arguments.parse_args()
    # Each of Spark's default 200 shuffle partitions keeps a state store. These are too many for one machine.
    spark = (
        SparkSession.builder.appName("word count").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    )
    lines = (
        spark.readStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.input_topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = to_topic(windowed_counts(lines), given.service_url, given.output_topic, given.checkpoint)
    if given.available_now:
        query = query.trigger(availableNow=True)
    query.start().awaitTermination()


if __name__ == "__main__":
    main()
