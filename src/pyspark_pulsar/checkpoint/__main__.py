"""Entry point of the process that the JVM starts: `python -m pyspark_pulsar.checkpoint`."""

from __future__ import annotations

from pyspark_pulsar.checkpoint.process.service import CheckpointService
from pyspark_pulsar.spark.service import run

if __name__ == "__main__":
    run(CheckpointService())
