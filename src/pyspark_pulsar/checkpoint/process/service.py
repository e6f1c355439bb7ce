"""The loop over the JVM's frames: settings first, then requests, answered in any order.

First frame: `{"settings": {...}}`, answered by `{"ready": true}` or `{"error": {...}}`, which ends it.
Request: `{"id": 1, "call": "status", ...arguments}` and a body, answered by `{"id": 1, "result": ...}` and a body or by
`{"id": 1, "error": {"kind": ..., "message": ...}}`; `kind` is one of those below.

One thread reads; `THREADS` answer. Each call has a deadline from when it comes, so that every request is answered.
While all threads are busy requests wait; when `MOST_WAITING` do, nothing more is read.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pyspark_pulsar.checkpoint.cluster import CALL_SECONDS, ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.process.frames import Send
from pyspark_pulsar.errors import (
    CheckpointIsDirectory,
    CheckpointLost,
    CheckpointNotDirectory,
    CheckpointNotEmpty,
    CheckpointPathExists,
    CheckpointPathNotFound,
    CheckpointTakenOver,
    CorruptEntryError,
    DataLossError,
    OptionError,
    PermissionDenied,
    PulsarError,
    printable,
)
from pyspark_pulsar.spark.logging import follow_levels

THREADS: Final = 32
MOST_WAITING: Final = 64

_KINDS: Final = (
    (CheckpointPathNotFound, "NotFound"),
    (CheckpointPathExists, "Exists"),
    (CheckpointIsDirectory, "IsDirectory"),
    (CheckpointNotDirectory, "NotDirectory"),
    (CheckpointNotEmpty, "NotEmpty"),
    (CheckpointTakenOver, "TakenOver"),
    (CheckpointLost, "Lost"),
    (CorruptEntryError, "Lost"),
    (DataLossError, "Lost"),
    (PermissionDenied, "Denied"),
    (OptionError, "Invalid"),
)
_FAILED: Final = "Failed"
_CLOSE_SECONDS: Final = 3.0

Receive = Callable[[], tuple[dict[str, Any], bytes] | None]


def serve(receive: Receive, send: Send) -> None:
    """Answer until no more frames come. What `send` raises, such as `BrokenPipeError`, ends it too."""
    first = receive()
    if first is None:
        return
    try:
        settings = _settings(first[0])
    except Exception as fault:  # noqa: BLE001 -- the JVM is told whatever it is
        send({"error": _error(fault)}, b"")
        return
    send({"ready": True}, b"")
    # Heavy, and not needed to say whether the settings are right.
    from pyspark_pulsar.checkpoint.store import Store

    store = Store(settings)
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="call")
    room = threading.BoundedSemaphore(THREADS + MOST_WAITING)
    try:
        while (frame := receive()) is not None:
            room.acquire()
            answered = threads.submit(_answer, store, frame, send, Deadline.after(CALL_SECONDS))
            answered.add_done_callback(lambda _: room.release())
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        # What waits for brokers that do not answer does not keep the process.
        closing = threading.Thread(target=store.close, name="close", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)


def _settings(header: Mapping[str, Any]) -> ClusterSettings:
    settings = header.get("settings")
    if not isinstance(settings, dict):
        raise OptionError("the first frame: expected the settings of the cluster, got another")
    return ClusterSettings.parse(settings)


def _answer(store: Any, frame: tuple[dict[str, Any], bytes], send: Send, deadline: Deadline) -> None:
    from pyspark_pulsar.checkpoint.process.calls import CALLS

    header, body = frame
    number, call = header.get("id"), str(header.get("call"))
    try:
        follow_levels(header.get("log"))
        if call not in CALLS:
            raise OptionError(f"call {call!r}: expected one of {', '.join(CALLS)}, got another")  # noqa: TRY301
        result, answer = CALLS[call](store, header, body, deadline)
    except Exception as fault:  # noqa: BLE001 -- one request must not end the others
        send({"id": number, "error": _error(fault)}, b"")
    else:
        send({"id": number, "result": result}, answer)


def _error(fault: Exception) -> dict[str, str]:
    if isinstance(fault, KeyError):
        return {"kind": "Invalid", "message": printable(f"the argument {fault} is missing")}
    if not isinstance(fault, PulsarError):
        traceback.print_exception(fault)
        return {"kind": _FAILED, "message": printable(f"{type(fault).__name__}: {fault}")}
    kind = next((kind for leaf, kind in _KINDS if isinstance(fault, leaf)), _FAILED)
    return {"kind": kind, "message": str(fault)}
