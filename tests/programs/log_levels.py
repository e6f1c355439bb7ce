"""A stream of a topic with a bad message, once for each log level: `log_levels.py SERVICE_URL TOPIC LEVEL...`

The program writes a line `LEVEL x` to standard error before each query.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from pyspark_pulsar import configure


def main(service_url: str, topic: str, *levels: str) -> None:
    spark = configure(
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    ).getOrCreate()
    folder = Path(tempfile.mkdtemp())
    options = {
        "service.url": service_url,
        "topic": topic,
        "startingOffsets": "earliest",
        "mode": "DROPMALFORMED",
    }
    for number, level in enumerate(levels):
        spark.sparkContext.setLogLevel(level)
        sys.stderr.write(f"LEVEL {level}\n")
        frame = spark.readStream.format("pulsar").options(**options, maxRecordsPerTrigger="1").load()
        writer = frame.writeStream.format("parquet").option("path", str(folder / f"rows-{number}"))
        writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{number}"))
        writer.trigger(availableNow=True).start().awaitTermination()
    sys.stderr.write("LEVEL END\n")
    spark.stop()


main(*sys.argv[1:])
