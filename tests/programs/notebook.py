"""A notebook that installs the wheel by a command while the session runs: `notebook.py topic folder command...`"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

topic, folder, *install = sys.argv[1:]
told = json.loads((Path(folder) / "options.json").read_text())
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .getOrCreate()
)
try:
    spark.read.format("pulsar").options(**told, topic=topic).load()
except Py4JJavaError as fault:
    before = str(fault.java_exception.getCondition())
else:
    before = "found"

subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
importlib.invalidate_caches()
pyspark_pulsar = importlib.import_module("pyspark_pulsar")
pyspark_pulsar.register(spark)

spark.range(10).write.format("pulsar").options(**told, topic=topic).mode("append").save()
batch = spark.read.format("pulsar").options(**told, topic=topic).load().selectExpr("sum(id)").first()
query = (
    spark.readStream.format("pulsar")
    .options(**told, topic=topic, startingOffsets="earliest")
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
assert doubled is not None
(Path(folder) / "answer.json").write_text(json.dumps([before, batch[0], doubled[0]]))
spark.stop()
