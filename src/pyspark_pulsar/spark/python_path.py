"""Where Python finds PySpark in a process that is started by Spark's JVM, but not by Spark."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path


def add_pyspark() -> None:
    """Find it in SPARK_HOME, as Spark's own workers do, where the interpreter's environment has none: packed ones leave
    it out, since Spark brings it. Otherwise changes nothing."""
    home = os.environ.get("SPARK_HOME")
    if home and find_spec("pyspark") is None:
        sys.path += sorted(str(archive) for archive in Path(home, "python", "lib").glob("*.zip"))
