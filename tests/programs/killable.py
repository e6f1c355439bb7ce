"""Sessions and queries for programs that tests kill. Spark repeats failed tasks, and a query can run without end."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from pyspark_pulsar.session.configure import EXTENSIONS_CLASS, catalog_jar

STARTED = "the streaming query has started"
"""The line that is printed after the start of the query. Earlier failures occur within seconds."""

ROUND = "round: "
"""The prefix of the line with the outcome of a round, in programs that start a round on request."""


def arguments(*names: str) -> argparse.ArgumentParser:
    """Return a parser with the positional arguments `checkpoint` and `names`, and the flag `--available-now`."""
    parser = argparse.ArgumentParser()
    for name in ("checkpoint", *names):
        parser.add_argument(name)
    parser.add_argument("--available-now", action="store_true")
    return parser


WITH_JAR: Final = 0.75
"""The share of the sessions with the jar. All other sessions use Spark without the jar."""


def session(master: str = "local[2,8]", conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start a session with or without the jar, at random, because a query must resume in both kinds of session."""
    has_jar = secrets.randbelow(100) < 100 * WITH_JAR
    print(f"a session {'with' if has_jar else 'without'} the jar", flush=True)  # noqa: T201
    jar = {"spark.jars": str(catalog_jar()), "spark.sql.extensions": EXTENSIONS_CLASS} if has_jar else {}
    builder = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    spark = builder.config(map=jar | dict(conf or {})).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    return spark


def start(query: DataStreamWriter, given: argparse.Namespace, path: str | None = None) -> StreamingQuery:
    trigger = {"availableNow": True} if given.available_now else {"processingTime": "500 milliseconds"}
    started = query.option("checkpointLocation", given.checkpoint).trigger(**trigger).start(path)
    print(STARTED, flush=True)  # noqa: T201
    return started
