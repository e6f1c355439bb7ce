"""What Spark's Python workers have and reach. A job of tasks that need nothing but Python, so that they run in workers
which lack everything else."""

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
    """What the driver has."""

    python: str
    package: str


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What one task has found."""

    host: str
    executable: str
    python: str
    package: str
    """The version of this package; empty where there is none."""
    kernel: str
    """Why the kernel cannot be loaded; empty where it can, and where there is no package."""
    time: float
    """Unix seconds, by the executor's clock."""
    reached: Mapping[str, str]
    """Why an address cannot be connected to, by `host:port`; empty where it can."""
    expected: Interpreter


def probe_workers(
    spark: SparkSession, tasks: int, addresses: Sequence[tuple[str, int]] = ()
) -> list[WorkerReport]:
    """Run so many tasks, each of which connects to all addresses once. Driver only. Raises what Spark raises where
    workers do not start."""
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
        told, reached = time.time(), {}
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
        return json.dumps({**own, "package": package, "kernel": kernel, "time": told, "reached": reached})

    probe.__module__ = "__main__"
    # Neither Arrow nor pandas: the first thing to say of a bare worker is that this package is missing.
    report = udf(probe, "string", useArrow=False)
    rows = spark.range(0, tasks, 1, tasks).select(report("id").alias("report")).collect()
    driver = Interpreter(platform.python_version(), version("pyspark-pulsar"))
    return [WorkerReport(**json.loads(row.report), expected=driver) for row in rows]
