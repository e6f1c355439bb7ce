"""`python -m pyspark_pulsar.checkpoint`, which the JVM starts."""

from __future__ import annotations

from pyspark_pulsar.checkpoint.process.service import CheckpointService
from pyspark_pulsar.spark.service import run

if __name__ == "__main__":
    run(CheckpointService())
