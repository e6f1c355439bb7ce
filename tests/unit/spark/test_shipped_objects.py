"""Objects that a worker's garbage collector visits after each task."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from pyspark_pulsar.read.batch import batch_reader as reader
from pyspark_pulsar.spark.shipped_objects import freeze_imports
freeze_imports()
frozen, left = gc.get_freeze_count(), len(gc.get_objects())
freeze_imports()
assert gc.get_freeze_count() == frozen
print(frozen, left)
"""


def test_imported_modules_are_frozen_once() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    frozen, left = map(int, done.stdout.split())
    assert frozen > 50_000
    assert left < frozen / 50
