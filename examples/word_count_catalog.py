"""The word count in SQL, with topics as tables of the catalog.

python examples/word_count_catalog.py pulsar://localhost:6650 http://localhost:8080 lines word_counts
"""

import argparse

from pyspark.sql import SparkSession

from pyspark_pulsar import configure

CREATE = """
    CREATE TABLE IF NOT EXISTS {counts} (word STRING, window_start TIMESTAMP, cnt BIGINT)
    TBLPROPERTIES ('value_format' = 'json', 'key_column' = 'word')
"""
COUNT_WORDS = """
    SELECT word, window.start AS window_start, count(*) AS cnt
    FROM (
        SELECT explode(regexp_extract_all(lower(value), '([\\\\p{{L}}\\\\p{{N}}]+)', 1)) AS word, __eventTime AS ts
        FROM {lines}
    )
    GROUP BY word, window(ts, '5 seconds')
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("service_url")
    arguments.add_argument("admin_url")
    arguments.add_argument("input_table", help="a topic of public/default with text")
    arguments.add_argument("output_table")
    arguments.add_argument(
        "--stream", action="store_true", help="keep running as lines arrive, instead of once"
    )
    arguments.add_argument(
        "--available-now", action="store_true", help="with --stream: end after the present lines"
    )
    arguments.add_argument("--checkpoint", default="checkpoints/word-count-catalog")
    given = arguments.parse_args()
    spark = (
        configure(SparkSession.builder, given.service_url, given.admin_url)
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sql("USE pulsar")
    lines, counts = f"`{given.input_table}`", f"`{given.output_table}`"
    spark.sql(CREATE.format(counts=counts))
    if not given.stream:
        spark.sql(f"INSERT INTO {counts} {COUNT_WORDS.format(lines=lines)}")
        return
    live = f"STREAM {lines} WITH (startingOffsets = 'earliest') WATERMARK __eventTime DELAY OF INTERVAL 2 SECONDS"
    query = spark.sql(COUNT_WORDS.format(lines=live)).writeStream.option(
        "checkpointLocation", given.checkpoint
    )
    if given.available_now:
        query = query.trigger(availableNow=True)
    query.toTable(counts).awaitTermination()


if __name__ == "__main__":
    main()
