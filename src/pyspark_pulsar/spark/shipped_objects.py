"""Objects that Spark sends to its Python workers, including workers whose interpreter lacks this package.

Spark starts the Python of executors as `PYSPARK_PYTHON`, `spark.pyspark.python`, or `python3` on the PATH. This
interpreter can differ from the driver's interpreter. An object of this package is sent as the pickled bytes of its
state, with a function that is pickled *by value*. So a worker without the package fails with a clear message instead of
ModuleNotFoundError.

After every task, a worker of PySpark collects the garbage of the whole process (`gc.collect()`). The collection visits
every object of every imported module. With PySpark and this package, the collection takes 40 ms, while reading a small
topic takes 6 ms. So the first task excludes imported objects from garbage collection.
"""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable
from inspect import currentframe
from typing import TYPE_CHECKING, Any

from pyspark_pulsar.errors import InterpreterError
from pyspark_pulsar.spark.logging import follow_levels, session_levels, show_warnings
from pyspark_pulsar.spark.worker_probe import probe_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_frozen = False


def restorer() -> Callable[[bytes, str], Any]:
    """Return a function that restores an object.

    The function belongs to no module, so that cloudpickle sends the function by value.
    """

    def restore(state: bytes, driver_executable: str) -> Any:
        import os
        import pickle
        import sys

        try:
            import pyspark_pulsar  # noqa: F401
        except ImportError as fault:
            # Hide the frames of this error, because they are not useful. The module `tracebacks` does the same, but is
            # missing here.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
            raise RuntimeError(
                f"Python workers run {sys.executable} (Python {sys.version.split()[0]}), where the package "
                f"pyspark-pulsar is not installed ({fault}); set PYSPARK_PYTHON, or "
                f"spark.pyspark.python, to an interpreter that has the package (the driver runs {driver_executable}), "
                f"or install the package for the workers with pip"
            ) from None
        kind, attributes = pickle.loads(state)  # noqa: S301 -- Spark's own task, which this user's driver has pickled
        instance = kind.__new__(kind)
        instance.__dict__.update(attributes)
        return instance

    restore.__module__ = "__main__"
    return restore


def freeze_imports() -> None:
    """Exclude all existing objects from garbage collection, once in this process.

    Call this when a task begins, after all imports that the task needs.
    """
    global _frozen  # noqa: PLW0603 -- a fact about the process
    if not _frozen:
        _frozen = True
        gc.freeze()


class Shipped:
    """A base class for objects that Spark pickles on the driver and uses on executors."""

    _log_levels: str | None = None
    """Levels of the session's log at the time of pickling; None on the driver."""

    def begin_task(self) -> None:
        """Prepare the worker's process for a task."""
        freeze_imports()
        show_warnings()
        follow_levels(self._log_levels)

    def shipped_state(self) -> dict[str, Any]:
        """Return the attributes to send, without sockets and other resources of the driver."""
        return dict(self.__dict__)

    def __reduce__(self) -> tuple[Callable[[bytes, str], Any], tuple[bytes, str]]:
        state = pickle.dumps((type(self), {**self.shipped_state(), "_log_levels": session_levels()}))
        return restorer(), (state, sys.executable)


def runs_in(program: str) -> bool:
    """Return whether the call stack contains the module `program`, with which Spark has started this process."""
    frame = currentframe()
    while frame is not None:
        spec = frame.f_globals.get("__spec__")
        if program in (frame.f_globals.get("__name__"), getattr(spec, "name", None)):
            return True
        frame = frame.f_back
    return False


def check_workers(spark: SparkSession) -> None:
    """Run a small job to check that a worker has this package in the driver's version. Runs on the driver only.

    Args:
        spark: The session.

    Raises:
        InterpreterError: The worker lacks this package, or has another version of this package. The message names the
            worker's interpreter and the setting to change.

    """
    (report,) = probe_workers(spark, 1)
    expected = report.expected.package
    if report.package != expected:
        raise InterpreterError(
            f"Python workers run {report.executable} with {report.package or 'no'} pyspark-pulsar: expected "
            f"{expected}; set PYSPARK_PYTHON (or spark.pyspark.python) to {sys.executable} before "
            f"the session starts, or install the package for the workers"
        )
