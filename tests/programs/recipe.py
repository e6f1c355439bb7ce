"""A user's program for spark-submit or Spark Connect: batch, SQL, sink and stream: `recipe.py topic folder [sc://...]`"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

topic, folder, *remote = sys.argv[1:]
builder = SparkSession.builder
spark = (builder.remote(remote[0]) if remote else builder).getOrCreate()
told = json.loads((Path(folder) / "options.json").read_text())
options = {**told, "topic": topic}

spark.range(5).selectExpr("id").write.format("pulsar").options(**options).mode("append").save()
spark.sql(f"INSERT INTO pulsar.`public/default`.`{topic}` SELECT id + 5 FROM range(5)")
batch = spark.read.format("pulsar").options(**options).load().selectExpr("sum(id)").first()
in_sql = spark.sql(f"SELECT count(*) FROM pulsar.`public/default`.`{topic}`").first()
query = (
    spark.readStream.format("pulsar")
    .options(**options, startingOffsets="earliest")
    .load()
    .selectExpr("id * 2 AS id")
    .writeStream.format("pulsar")
    .options(**told, topic=f"{topic}-doubled", checkpointLocation=f"{folder}/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
doubled = (
    spark.read.format("pulsar").options(**told, topic=f"{topic}-doubled").load().selectExpr("sum(id)").first()
)
assert batch is not None
assert in_sql is not None
assert doubled is not None
(Path(folder) / "answer.json").write_text(json.dumps([batch[0], in_sql[0], doubled[0]]))
spark.stop()
