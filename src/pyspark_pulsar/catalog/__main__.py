"""`python -m pyspark_pulsar.catalog`, which the JVM starts."""

from __future__ import annotations

from pyspark_pulsar.catalog.process.service import CatalogService
from pyspark_pulsar.spark.service import run

if __name__ == "__main__":
    run(CatalogService())
