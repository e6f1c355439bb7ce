"""The long-lived process in which the JVM runs Spark's planning programs.

The jar starts the process as `python -m pyspark_pulsar.spark.driver_process`.

For a Python source, Spark has a program for each step on the driver (`pyspark.sql.worker`). The steps are: create the
source, push filters, plan a read, plan a write, commit. Spark starts a new process for each program, and each process
imports all modules again. Instead, the jar runs the programs in this process, as calls of `spark.service`:

    call                           body                                   answer
    the module name of a program   the input of the program from Spark    the output of the program to Spark
    read_summary                   pickled partitions (`frames.packed`)   their summary by `read.batch.summary`
    the calls of a stream reader   described in `spark.stream_readers`

Each program reads its whole input before it writes its output, so one frame contains the input and another frame
contains the output. Calls run concurrently, but only after all modules that programs need are imported. Several threads
cannot import modules at the same time if the modules import each other.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.service import FAILED, Answer, find_call, run
from pyspark_pulsar.spark.stream_readers import CALLS, StreamReaders
from pyspark_pulsar.spark.tracebacks import HIDES_TRACEBACKS, keeps_tracebacks

_PLANNERS: Final = "pyspark.sql.worker"
_PROGRAMS: Final = (
    f"{_PLANNERS}.create_data_source",
    f"{_PLANNERS}.data_source_pushdown_filters",
    f"{_PLANNERS}.plan_data_source_read",
    f"{_PLANNERS}.write_into_data_source",
    f"{_PLANNERS}.commit_data_source_write",
    f"{_PLANNERS}.python_streaming_sink_runner",
)
_SUMMARY: Final = "pyspark_pulsar.read.batch.summary"
_OWN: Final = (
    _SUMMARY,
    "pyspark_pulsar.datasource",
    "pyspark_pulsar.read.batch.batch_reader",
    "pyspark_pulsar.read.microbatch.stream_reader",
    "pyspark_pulsar.write.batch",
    "pyspark_pulsar.write.stream",
)
_ERROR_HEAD: Final = 8
"""The length in bytes of the prefix before the text of an error that a program writes to Spark."""

_Call = Callable[[Mapping[str, Any], bytes], Answer]


class DriverService:
    """The service for all queries of one JVM."""

    threads = 128
    idle_seconds: float | None = None

    def __init__(self) -> None:
        self._readers = StreamReaders()
        self._calls: dict[str, _Call] = {name: partial(_program, name) for name in _PROGRAMS}
        self._calls |= {name: partial(self._reader, name) for name in CALLS}
        self._calls |= {
            "read_summary": _summary,
            "open_stream": self._open_stream,
            "close_stream": self._close_stream,
        }

    def start(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        del settings
        # Hide the frames of errors, because users need only the message.
        if not keeps_tracebacks():
            os.environ[HIDES_TRACEBACKS] = "1"
        return {"version": "{}.{}".format(*sys.version_info)}

    def open(self) -> None:
        """Import the modules that nearly every call needs, while the JVM prepares the first call."""
        for module in (*_PROGRAMS, *_OWN):
            # Ignore a failed import, because the call of the program fails too, and reports the error to Spark.
            with contextlib.suppress(Exception):
                import_module(module)
        gc.collect()
        gc.freeze()

    def answer(self, call: str, arguments: Mapping[str, Any], body: bytes) -> Answer:
        return find_call(self._calls, call)(arguments, body)

    def error(self, call: str, fault: Exception) -> dict[str, str]:
        del call
        _log(fault)
        return {"kind": FAILED, "message": _encode_error(fault)[_ERROR_HEAD:].decode().rstrip()}

    def close(self) -> None:
        """Do nothing, because connections end with the process."""

    def _open_stream(self, arguments: Mapping[str, Any], source: bytes) -> Answer:
        return self._readers.open(source, arguments["columns"]), b""

    def _reader(self, call: str, arguments: Mapping[str, Any], body: bytes) -> Answer:
        del body
        return None, self._readers.call(arguments["stream"], call, arguments["values"])

    def _close_stream(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        del body
        self._readers.close(arguments["stream"])
        return None, b""


def _summary(arguments: Mapping[str, Any], partitions: bytes) -> Answer:
    del arguments
    return import_module(_SUMMARY).summary_of(partitions), b""


def _program(name: str, arguments: Mapping[str, Any], request: bytes) -> Answer:
    """Run one of Spark's programs. An error is part of the answer, in the form that the program would write.

    The function `_main` of a program omits the steps that only a separate process needs. These steps set up files and
    profilers, and return accumulators. This data source uses no files, profilers or accumulators. In Spark 4.1 the
    programs have only `main`, which includes all steps. For Spark 4.1, the jar also sends the input for these steps
    (`DriverPrograms`).
    """
    del arguments
    written = io.BytesIO()
    try:
        module = import_module(name)
        program = getattr(module, "_main", None) or module.main
        program(io.BytesIO(request), written)
    except SystemExit as end:
        # This is a program of Spark 4.1, which has written the error already.
        _log(end.__context__)
    except BaseException as fault:  # noqa: BLE001 -- Spark reports any fault
        written.write(_encode_error(fault))
        _log(fault)
    return None, written.getvalue()


def _encode_error(fault: BaseException) -> bytes:
    """Return an error in the form of Spark's programs.

    The form is a number that means an error, a u32 length, and the text.

    The text of an error of this package contains no frames. The text does not end with a line end, because Spark
    appends words to the text.
    """
    from pyspark.serializers import SpecialLengths, write_int, write_with_length
    from pyspark.util import handle_worker_exception

    written = io.BytesIO()
    if isinstance(fault, PulsarError) and not keeps_tracebacks():
        text = "".join(traceback.format_exception_only(fault)).removesuffix("\n")
        write_int(SpecialLengths.PYTHON_EXCEPTION_THROWN, written)  # type: ignore[no-untyped-call]
        write_with_length(text.encode(), written)  # type: ignore[no-untyped-call]
    else:
        handle_worker_exception(fault, written)
    return written.getvalue()


def _log(fault: BaseException | None) -> None:
    """Log the frames of an error that may be a fault of this package. Errors for users need no frames."""
    if fault is not None and not isinstance(fault, PulsarError | EOFError | ConnectionError):
        traceback.print_exception(fault)


if __name__ == "__main__":
    run(DriverService())
