"""Started by a test with options and further secrets as JSON: reads, streams and fails, and prints all that a user may
print of it.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from pyspark_pulsar import configure


def main(options: dict[str, str], others: list[dict[str, str]], topic: str, folder: str) -> None:
    spark = (
        configure(SparkSession.builder.master("local[2]"), options=options)
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file://{folder}/events")
        .config("spark.eventLog.compress", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    spark.range(3).selectExpr("cast(id as string) value").write.format("pulsar").options(**options).option(
        "topic", topic
    ).mode("append").save()
    frame = spark.read.format("pulsar").options(**options).option("topic", topic).load()
    frame.explain(extended=True)
    print(frame, frame.count())
    create_view(spark, "v", {**options, "topic": topic})
    for number, other in enumerate(others):
        try:
            create_view(spark, f"v{number}", {**options, **other, "topic": topic})
        except Exception as fault:  # noqa: BLE001 -- printed, which is the point
            print(fault)
    spark.sql("EXPLAIN EXTENDED SELECT * FROM v").show(truncate=False)
    query_table(spark, f"pulsar.`public/default`.`{topic.rpartition('/')[2]}`")
    stream = spark.readStream.format("pulsar").options(**options).option("topic", topic)
    query = (
        stream.option("startingOffsets", "earliest")
        .load()
        .writeStream.format("pulsar")
        .options(**options)
        .option("topic", f"{topic}-2")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    query.explain(extended=True)
    print(query.lastProgress, query.status, query)
    try:
        wrong = {**options, "topic": topic, "pulsar.client.authParam": options["pulsar.client.authParams"]}
        spark.read.format("pulsar").options(**wrong).load()
    except Exception as fault:  # noqa: BLE001
        print(fault)
    failing = frame.selectExpr("raise_error('on purpose') failed")
    try:
        failing.collect()
    except Exception as fault:  # noqa: BLE001
        print(fault)
    spark.stop()
    print("done")


def query_table(spark: SparkSession, table: str) -> None:
    frame = spark.table(table).where("__partition < 5")
    frame.explain(extended=True)
    print("rows of the table:", frame.count())
    for statement in ("SET", f"DESCRIBE TABLE EXTENDED {table}", f"EXPLAIN EXTENDED SELECT * FROM {table}"):
        print([row.asDict() for row in spark.sql(statement).collect()])
    spark.sql(f"INSERT INTO {table} (value, __key) VALUES ('more', 'k')")
    try:
        spark.table(f"{table[:-1]}-not-there`")
    except Exception as fault:  # noqa: BLE001 -- printed, which is the point
        print(fault)


def create_view(spark: SparkSession, name: str, options: dict[str, str]) -> None:
    quoted = ", ".join(f"`{key}` '{text}'" for key, text in options.items())
    spark.sql(f"CREATE TEMPORARY VIEW {name} USING pulsar OPTIONS ({quoted})")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], sys.argv[4])
