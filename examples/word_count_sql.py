"""The word count in SQL: a topic as the table `words`, and the result in a JSON topic with words and counts.

python examples/word_count_sql.py pulsar://localhost:6650 lines wc
"""

import argparse
import os
import sys

from pyspark.sql import SparkSession
from word_count_stream import words_of

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

COUNT_WORDS = """
    SELECT word, count(*) AS cnt
    FROM words
    GROUP BY word, window(ts, '5 seconds')
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("service_url")
    arguments.add_argument("input_topic")
    arguments.add_argument("output_topic")
    arguments.add_argument("--checkpoint", default="checkpoints/word-count-sql")
    arguments.add_argument("--available-now", action="store_true")
    given = arguments.parse_args()
    # Each of Spark's default 200 shuffle partitions keeps a state store. These are too many for one machine.
    spark = (
        SparkSession.builder.appName("word count in SQL")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    lines = (
        spark.readStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.input_topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    words_of(lines.withWatermark("__eventTime", "2 seconds")).createOrReplaceTempView("words")
    query = (
        spark.sql(COUNT_WORDS)
        .writeStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.output_topic)
        .option("valueFormat", "json")
        .option("checkpointLocation", given.checkpoint)
        .outputMode("append")
    )
    if given.available_now:
        query = query.trigger(availableNow=True)
    query.start().awaitTermination()


if __name__ == "__main__":
    main()
