"""Checks of the installation of executors, and of the addresses that executors reach.

The checks run a small job in Spark's Python workers, so the checks need PySpark and Java.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark_pulsar.spark.worker_probe import WorkerReport, probe_workers
from pyspark_pulsar.tools.doctor.cluster_findings import skew
from pyspark_pulsar.tools.doctor.finding import FAULT, NOT_ASKED, OK, WARNING, Finding, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]+)"')
_SHOWN: Final = 300

Address = tuple[str, int]


def findings(
    master: str, conf: Mapping[str, str], brokers: Sequence[Address], bookies: Sequence[Address]
) -> Iterator[Finding]:
    """Start a session on `master` with the settings, check its executors, and stop the session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("pyspark-pulsar doctor")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    try:
        spark = builder.config(map=dict(conf)).getOrCreate()
    except Exception as fault:  # noqa: BLE001 -- Spark fails to start for many reasons
        yield Finding(
            "Spark session", FAULT, f"{master}: {first_line(fault)}",
            "check the master's address, JAVA_HOME, and the settings in --conf",
        )  # fmt: skip
        return
    try:
        spark.sparkContext.setLogLevel("OFF")
        yield Finding("Spark session", OK, f"Spark {spark.version} on {master}")
        yield from check_session(spark, brokers, bookies)
    finally:
        spark.stop()


def check_session(
    spark: SparkSession, brokers: Sequence[Address], bookies: Sequence[Address]
) -> Iterator[Finding]:
    """Check the executors of a running session, and yield the findings."""
    tasks = max(2, min(64, 2 * spark.sparkContext.defaultParallelism))
    before = time.time()
    try:
        reports = probe_workers(spark, tasks, [*brokers, *bookies])
    except Exception as fault:  # noqa: BLE001 -- Spark raises many errors for workers that do not start
        yield Finding("executors", FAULT, *_no_worker(fault))
        return
    after = time.time()
    first: dict[tuple[str, str, str], WorkerReport] = {}
    for report in reports:
        first.setdefault((report.host, report.executable, report.package), report)
    for report in first.values():
        yield from check_worker(report, before, after, len(brokers))


def check_worker(report: WorkerReport, before: float, after: float, brokers: int) -> Iterator[Finding]:
    """Yield the findings for one worker.

    Args:
        report: The report of the worker.
        before: Unix seconds by this machine's clock, before the job.
        after: Unix seconds by this machine's clock, after the job.
        brokers: The number of brokers in `report.reached`, which lists the brokers before the bookies.

    """
    where = f"executor {report.host}"
    expected = report.expected
    package = f"pyspark-pulsar {report.package}" if report.package else "no pyspark-pulsar"
    found = f"Python {report.python} with {package}, at {report.executable}"
    advice = (
        f"on every node, set PYSPARK_PYTHON (or spark.pyspark.python) to a Python with pyspark-pulsar "
        f"{expected.package}, or install this version"
    )
    if report.package != expected.package:
        yield Finding(f"{where}: Python", FAULT, found, advice)
    elif report.python.split(".")[:2] != expected.python.split(".")[:2]:
        yield Finding(f"{where}: Python", FAULT, f"{found}; the driver runs {expected.python}", advice)
    elif report.kernel:
        yield Finding(f"{where}: Python", FAULT, f"{found}; the kernel cannot be loaded: {report.kernel}",
            "install the wheel for that kind of machine")  # fmt: skip
    else:
        yield Finding(f"{where}: Python", OK, found)
    yield skew(f"{where}: clock", report.time, before, after, "the executor's")
    for number, (address, reason) in enumerate(report.reached.items()):
        is_broker = number < brokers
        subject = f"{where}: {'broker' if is_broker else 'bookie'} {address}"
        state: State = FAULT if is_broker else WARNING
        if reason:
            yield Finding(subject, state, reason, "open that port to the executors" + (
                "" if is_broker else ", or set readFrom=broker"))  # fmt: skip
        else:
            yield Finding(subject, OK, "reached")
    if not report.reached:
        yield Finding(f"{where}: brokers", NOT_ASKED, "no broker address is known")


def _no_worker(fault: Exception) -> tuple[str, str]:
    match = _NO_PROGRAM.search(str(fault))
    if match is not None:
        return (
            f"no Python worker starts, because the program {match[1]} does not exist",
            "set PYSPARK_PYTHON (or spark.pyspark.python) to a Python with pyspark-pulsar that exists on every node",
        )
    return first_line(fault), "read the log of the executors"


def first_line(fault: Exception) -> str:
    """Return the first line of an error, because Spark's errors have pages of stack traces."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return (lines[0] if lines else type(fault).__name__)[:_SHOWN]
