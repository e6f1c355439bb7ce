"""Reports about Spark's Python workers, with their versions and the servers that they reach.

A job collects the reports. The tasks of the job need only Python, so they also run in workers that lack this package.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The versions of Python and this package on the driver."""

    python: str
    package: str


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The report of one task."""

    host: str
    executable: str
    python: str
    package: str
    """The version of this package, or empty if the package is missing."""
    kernel: str
    """The error of loading the kernel; empty if the kernel was loaded, or if the package is missing."""
    time: float
    """The time of the executor's clock, in Unix seconds."""
    reached: Mapping[str, str]
    """The error of the connection to each address, by `host:port`; empty if the connection succeeded."""
    expected: Interpreter


def probe_workers(
    spark: SparkSession, tasks: int, addresses: Sequence[tuple[str, int]] = ()
) -> list[WorkerReport]:
    """Run tasks that each connect once to all addresses, and return their reports. Runs on the driver only.

    If workers do not start, this function raises Spark's error.

    Args:
        spark: The session.
        tasks: Number of tasks.
        addresses: Hosts and ports to connect to.

    """
    from pyspark.sql.functions import udf

    seconds, wanted = _CONNECT_SECONDS, tuple(addresses)

    def probe(_: Any) -> str:
        import json
        import platform
        import socket
        import sys
        import time
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version

        try:
            package = version("pyspark-pulsar")
        except PackageNotFoundError:
            package = ""
        kernel = ""
        if package:
            try:
                import_module("pyspark_pulsar.codec.digests")
            except ImportError as fault:
                kernel = str(fault)
        clock, reached = time.time(), {}
        for host, port in wanted:
            try:
                socket.create_connection((host, port), seconds).close()
                reached[f"{host}:{port}"] = ""
            except OSError as fault:
                reached[f"{host}:{port}"] = str(fault)
        own = {
            "host": socket.gethostname(),
            "executable": sys.executable,
            "python": platform.python_version(),
        }
        return json.dumps({**own, "package": package, "kernel": kernel, "time": clock, "reached": reached})

    probe.__module__ = "__main__"
    # Use neither Arrow nor pandas, because a worker without them must still report that this package is missing.
    report = udf(probe, "string", useArrow=False)
    rows = spark.range(0, tasks, 1, tasks).select(report("id").alias("report")).collect()
    driver = Interpreter(platform.python_version(), version("pyspark-pulsar"))
    return [WorkerReport(**json.loads(row.report), expected=driver) for row in rows]
