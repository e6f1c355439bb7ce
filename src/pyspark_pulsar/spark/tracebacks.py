"""Display of this package's errors without the frames of their traceback.

Spark's Python programs write an exception with its traceback, which the JVM then displays. About 30 lines with frames
of PySpark and this package are before the message. The programs omit the frames if the variable SPARK_HIDE_TRACEBACK is
set when they write the exception. So this module sets the variable when an error of this package leaves a method that
Spark has called. The program (a task's worker, or a step on the driver) ends after this exception. All other exceptions
keep their frames, because they are faults of this package.

A process with `KEEPS_TRACEBACKS` in its environment keeps all frames. For tasks, set the variable as
`spark.executorEnv.PYSPARK_PULSAR_TRACEBACK`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isfunction
from typing import Any, Final, TypeVar

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.shipped_objects import runs_in

KEEPS_TRACEBACKS: Final = "PYSPARK_PULSAR_TRACEBACK"
"""The environment variable that keeps all frames. Any value except the empty text keeps the frames."""

HIDES_TRACEBACKS: Final = "SPARK_HIDE_TRACEBACK"
"""PySpark's environment variable that hides frames; `pyspark.util.handle_worker_exception` reads this variable."""

# Each of these programs ends with the first exception that it writes.
_PROGRAMS: Final = (
    "pyspark.worker",
    "pyspark.sql.worker.utils",
    # In Spark 4.1 each of these programs writes the exception itself.
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.data_source_pushdown_filters",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.sql.worker.commit_data_source_write",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.streaming.python_streaming_source_runner",
)

T = TypeVar("T")


def keeps_tracebacks() -> bool:
    return bool(os.environ.get(KEEPS_TRACEBACKS))


def hides_tracebacks(kind: type[T]) -> type[T]:
    """Decorate a class whose public methods Spark calls, on the driver or executors.

    If a method, or an iterator that a method returns, raises a `PulsarError`, Spark writes the error without frames.
    """
    for name, method in list(vars(kind).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(kind, name, _hide_frames(method))
    return kind


def _hide_frames(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(*arguments: Any, **named: Any) -> Any:
        with _hiding_frames():
            answer = method(*arguments, **named)
        return _hide_frames_of_iterator(answer) if isinstance(answer, Iterator) else answer

    return called


def _hide_frames_of_iterator(answer: Iterator[Any]) -> Iterator[Any]:
    with _hiding_frames():
        yield from answer


@contextmanager
def _hiding_frames() -> Iterator[None]:
    try:
        yield
    except PulsarError:
        if not keeps_tracebacks() and any(runs_in(program) for program in _PROGRAMS):
            os.environ[HIDES_TRACEBACKS] = "1"
        raise
