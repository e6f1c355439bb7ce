"""Duration of catalog statements in a namespace of thousands of topics.

    make bench        (or: python bench/catalog.py --topics 3000 --repeat 5)

All statements run in one Spark session, on a local Pulsar that shares the cores. The result file holds medians in
milliseconds. `first` is the first statement, which includes the start of the catalog's process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession
from run_report import arguments, new_report, write_report
from stream_server import StreamServer, stream_server

from pyspark_pulsar import configure

_NAMESPACE = "public/default"
_GOAL_MS = 3000.0


def main() -> None:
    given = _arguments()
    report = new_report(__file__)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch)) as server,
    ):
        _make_topics(server, given.topics)
        spark = _session(server, Path(scratch))
        report |= {"topics": given.topics, "first_ms": _took(spark, "SHOW NAMESPACES IN pulsar", 1)[0]}
        for statement in _statements():
            times = _took(spark, statement, given.repeat)
            report.setdefault("median_ms", {})[statement] = sorted(times)[len(times) // 2]
            print(f"{report['median_ms'][statement]:8.1f} ms  {statement}", flush=True)
        spark.stop()
    slowest = max(report["first_ms"], *report["median_ms"].values())
    report["goals"] = [
        {
            "what": "the slowest statement, ms",
            "goal": _GOAL_MS,
            "got": slowest,
            "met": slowest < _GOAL_MS,
        }
    ]
    write_report(report, given.result)


def _statements() -> list[str]:
    table = f"pulsar.`{_NAMESPACE}`.`topic-7`"
    return [
        "SHOW NAMESPACES IN pulsar",
        f"SHOW TABLES IN pulsar.`{_NAMESPACE}`",
        f"SHOW TABLES IN pulsar.`{_NAMESPACE}` LIKE 'topic-1*'",
        f"DESCRIBE TABLE {table}",
        f"DESCRIBE TABLE EXTENDED {table}",
        f"SHOW CREATE TABLE {table}",
        f"SELECT * FROM {table[:-1]}$schemas`",
        f"CREATE TABLE pulsar.`{_NAMESPACE}`.made (id INT)",
        f"DROP TABLE pulsar.`{_NAMESPACE}`.made",
    ]


def _make_topics(server: StreamServer, count: int) -> None:
    names = (f"persistent://{_NAMESPACE}/topic-{number}" for number in range(count))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: server.create(name, 1), names))


def _session(server: StreamServer, scratch: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    spark = configure(builder, server.service_url, server.admin_url).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(1).collect()
    return spark


def _took(spark: SparkSession, statement: str, repeat: int) -> list[float]:
    """Return the milliseconds of each run.

    Tables are dropped and created again between runs, so that all runs do the same work.
    """
    times = []
    for _ in range(repeat):
        if statement.startswith("DROP"):
            spark.sql(statement.replace("DROP TABLE", "CREATE TABLE IF NOT EXISTS") + " (id INT)")
        if statement.startswith("CREATE"):
            spark.sql(statement.replace("CREATE TABLE", "DROP TABLE IF EXISTS").partition(" (")[0])
        before = time.perf_counter()
        spark.sql(statement).collect()
        times.append(round((time.perf_counter() - before) * 1000, 1))
    return times


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, "", "catalog.json")
    parser.add_argument("--topics", type=int, default=3000)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
