"""Micro-batches and queries of one session leave nothing behind; `make soak-growth` runs thousands."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from soak.growth_soaking import grow

from pyspark_pulsar.tools.standalone import LocalPulsar


def test_a_session_does_not_grow(
    spark: SparkSession, pulsar: LocalPulsar, topic: str, tmp_path: Path
) -> None:
    report = grow(spark, pulsar.service_url, tmp_path, epochs=60, queries=16, say=print, topic=topic)
    # Pools of Spark's threads are still being filled in so short a run; `make soak-growth` compares threads too.
    assert [fault for fault in report.faults if not fault.startswith("threads:")] == []
    assert report.epochs >= 60
