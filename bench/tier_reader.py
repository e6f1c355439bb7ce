"""A Spark session that reads a tiered topic, one job for each line of JSON on standard input.

The session answers each job with the job's measures in JSON. See bench/tier_scan.py.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import DataFrame, SparkSession
from tier_table import EVENT_STEP_US, FIRST_EVENT_US

from pyspark_pulsar import configure

_SIX = ("id", "user", "item", "price", "qty", "score")
_NAMESPACE = "`public/default`"
Job = dict[str, Any]


def main() -> None:
    spark: SparkSession | None = None
    for line in sys.stdin:
        job = json.loads(line)
        if spark is None:
            spark = _session(job)
        print(json.dumps(_run_job(spark, job)), flush=True)


def _session(job: Job) -> SparkSession:
    """Return a session with two catalogs: `columns` reads topics' tables, `ledgers` ignores topics' tables."""
    options = dict(job["options"])
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.sql.shuffle.partitions", "2")
    builder = configure(builder, catalog="columns", options=options)
    del options["tierCatalog"]
    builder = configure(builder, catalog="ledgers", options=options)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _run_job(spark: SparkSession, job: Job) -> dict[str, float]:
    """Run a job, and return its measures. For equal rows, the value of `answer` is equal for all competitors."""
    before = time.perf_counter()
    columns, condition = _query(job)
    frame = _frame(spark, job, columns).where(condition)
    sums = [
        f"count({name})" if name in ("user", "item") else f"sum({name})" for name in columns if name[0] != "_"
    ]
    (row,) = frame.selectExpr(
        f"count(*) + {' + '.join(f'coalesce({text}, 0)' for text in sums)} AS answer"
    ).collect()
    return {"seconds": time.perf_counter() - before, "answer": float(row.answer)}


def _query(job: Job) -> tuple[tuple[str, ...], str]:
    """Return the columns that the query needs, and the query's condition."""
    tenth = job["rows"] * 9 // 10
    event = datetime.fromtimestamp((FIRST_EVENT_US + tenth * EVENT_STEP_US) / 1e6, UTC).isoformat()
    return {
        "1 of 10 columns": (("qty",), "true"),
        "6 of 10 columns": (_SIX, "true"),
        "a tenth, by event time": ((*_SIX, "__eventTime"), f"__eventTime >= TIMESTAMP'{event}'"),
        "a tenth, by id": (_SIX, f"id >= {tenth}"),
        "a tenth, by a random value": (_SIX, "score >= 0.9"),
        "no rows": (_SIX, "id < 0"),
    }[job["query"]]


def _frame(spark: SparkSession, job: Job, columns: tuple[str, ...]) -> DataFrame:
    """Return the competitor's fastest way to read the topic."""
    who, topic = job["who"], job["topic"]
    if who == "Parquet files":
        return spark.read.option("recursiveFileLookup", "true").parquet(job["folder"])
    if who == "data source, columns":
        chosen = {"topic": f"persistent://public/default/{topic}", "columns": ",".join(columns)}
        return spark.read.format("pulsar").options(**job["options"], **chosen, pushFilters="true").load()
    return spark.table(f"{'ledgers' if who == 'bookies' else 'columns'}.{_NAMESPACE}.{topic}")


if __name__ == "__main__":
    main()
