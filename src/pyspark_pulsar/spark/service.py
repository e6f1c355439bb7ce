"""The main loop of Python processes that the jar starts, with calls and answers in frames (`spark.frames`).

    frame               header
    the first frame     the settings, in the form of the service
    its answer          {"ready": true, ...}, or {"error": {...}} before the process ends
    a call              {"id": 1, "call": "status", "log": "WARN,INFO", "arguments": {...}}
    its answer          {"id": 1, "result": ...} or {"id": 1, "error": {"kind": "Failed", "message": ...}}

Settings may contain secrets, so they are in a frame, and not in an argument or environment variable. `log` contains the
levels of the session's log (`spark.logging.follow_levels`). A call and its answer may have a body. Answers may be sent
in any order.

One thread reads calls, and `Service.threads` threads answer calls. While all of these threads are busy, no further call
is read. The jar (`PythonProcess`) sends at most this number of calls at the same time. The process ends when the JVM
closes its standard input.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol, TypeVar

from pyspark_pulsar.errors import OptionError, ProtocolError, PulsarError, printable
from pyspark_pulsar.spark.frames import Frame, HeaderError, Receive, Send, receiver, sender
from pyspark_pulsar.spark.logging import follow_levels, show_warnings

FAILED: Final = "Failed"
"""The kind of an error for which a service defines no kind."""

_CLOSE_SECONDS: Final = 3.0

_Call = TypeVar("_Call")

Answer = tuple[Any, bytes]
"""The `result` of an answer, and its body."""


class Service(Protocol):
    """The functions that one kind of process provides.

    The thread that reads calls also calls all methods except `answer` and `error`.
    """

    threads: int
    """The number of concurrent calls. If the number is 1, the thread that reads calls also answers them, in order."""
    idle_seconds: float | None
    """The time in seconds without a call after which the process ends; None means never.

    The jar starts a new process for the next call. Set a time only for a service with one thread, because calls of
    other services may still be running.
    """

    def start(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Check the header of the first frame, and return further values for the answer to this frame.

        The JVM waits for the answer, so this method must be fast.

        If this method raises an error, the error is the answer to the first frame.
        """

    def open(self) -> None:
        """Load the modules that the first call needs."""

    def answer(self, call: str, arguments: Mapping[str, Any], body: bytes) -> Answer:
        """Answer a call. Errors are passed to `error`."""

    def error(self, call: str, fault: Exception) -> dict[str, str]:
        """Return the `kind` and the `message` of an error. `call` is empty if the settings caused the error."""

    def close(self) -> None:
        """Close connections. The process ends at most 3 seconds later."""


def run(service: Service) -> NoReturn:
    """Answer the JVM over this process's standard streams until the JVM closes the streams, and end the process."""
    answers, calls = _take_standard_streams()
    show_warnings()
    _add_pyspark()
    code = 0
    try:
        serve(service, receiver(calls, service.idle_seconds), sender(answers))
    except BrokenPipeError:
        pass
    except Exception:  # noqa: BLE001 -- the process ends immediately, even if a thread waits for a broker
        traceback.print_exc()
        code = 1
    # Do not wait for threads, because they may wait for brokers that do not answer.
    os._exit(code)


def serve(service: Service, receive: Receive, send: Send) -> None:
    """Answer calls until `receive` returns None.

    Raises:
        ProtocolError: `receive` has read invalid bytes.
        BrokenPipeError: The reading thread cannot send an answer.

    """
    first = receive()
    if first is None:
        return
    try:
        ready = service.start(first[0])
    except Exception as fault:  # noqa: BLE001 -- the JVM reports any fault
        send({"error": _error(service, "", fault)}, b"")
        return
    send({"ready": True, **ready}, b"")
    service.open()
    threads = ThreadPoolExecutor(service.threads, thread_name_prefix="call")
    room = threading.BoundedSemaphore(service.threads)
    try:
        while True:
            room.acquire()
            frame = _receive_frame(receive, send)
            if frame is None:
                return
            if service.threads == 1:
                _answer(service, frame, send)
                room.release()
            else:
                answered = threads.submit(_answer, service, frame, send)
                answered.add_done_callback(lambda _: room.release())
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        closing = threading.Thread(target=service.close, name="close", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)


def find_call(calls: Mapping[str, _Call], call: str) -> _Call:
    """Return the call of this name. Raise `OptionError` if no call has this name."""
    if call not in calls:
        raise OptionError(f"call {call!r}: expected one of {', '.join(calls)}, got another")
    return calls[call]


def describe_error(fault: Exception, kind: Callable[[PulsarError], str]) -> dict[str, str]:
    """Return the kind and the message of an error, in the form of an answer.

    The message of an error of another package begins with the type of the error. The traceback of such an error is
    written to standard error.
    """
    if isinstance(fault, PulsarError):
        return {"kind": kind(fault), "message": str(fault)}
    traceback.print_exception(fault)
    return {"kind": FAILED, "message": printable(f"{type(fault).__name__}: {fault}")}


def _take_standard_streams() -> tuple[int, int]:
    """Return file descriptors for answers and for calls, which no other code uses.

    Afterwards, standard output is redirected to standard error, and standard input is empty. Ctrl-C at a terminal is
    meant for Spark's shell, which continues, so this process ignores the signal.
    """
    answers, calls = os.dup(sys.stdout.fileno()), os.dup(sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor, no path
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return answers, calls


def _add_pyspark() -> None:
    """Add PySpark from SPARK_HOME to the module path, unless the interpreter's environment contains PySpark.

    Spark's own workers do the same. Environments that are packed for a cluster do not contain PySpark, because Spark
    provides PySpark.
    """
    home = os.environ.get("SPARK_HOME")
    if home and find_spec("pyspark") is None:
        sys.path += sorted(str(archive) for archive in Path(home, "python", "lib").glob("*.zip"))


def _receive_frame(receive: Receive, send: Send) -> Frame | None:
    while True:
        try:
            return receive()
        except HeaderError as fault:
            send({"id": None, "error": describe_error(fault, lambda _: FAILED)}, b"")


def _answer(service: Service, frame: Frame, send: Send) -> None:
    header, body = frame
    number, call = header.get("id"), str(header.get("call"))
    try:
        follow_levels(header.get("log"))
        result, answer = service.answer(call, header.get("arguments") or {}, body)
    except Exception as fault:  # noqa: BLE001 -- an error of one call must not end the others
        send({"id": number, "error": _error(service, call, fault)}, b"")
        return
    try:
        send({"id": number, "result": result}, answer)
    except (ProtocolError, TypeError, ValueError) as fault:
        # The answer cannot be sent, and no part of the answer was sent, so send an error.
        send({"id": number, "error": _error(service, call, fault)}, b"")


def _error(service: Service, call: str, fault: Exception) -> dict[str, str]:
    try:
        return service.error(call, fault)
    except Exception as other:  # noqa: BLE001 -- the caller would wait without end for a missing answer
        return describe_error(other, lambda _: FAILED)
