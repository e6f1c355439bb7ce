"""The loop over the JVM's lines: settings first, then requests, each answered by one line, in order.

First line: `{"catalog": name, "settings": {...}}`, answered by `{"ready": true}` or `{"error": {...}}`, which ends it.
Request: `{"id": 1, "call": "load_table", "arguments": {...}}`, answered by `{"id": 1, "result": ...}` or
`{"id": 1, "error": {"kind": ..., "message": ...}}`; `kind` is one of those below. A line that is no request is answered
with an id of null. Imported here is what the answer to the first line needs, and no more: the JVM waits for it.
"""

from __future__ import annotations

import json
import os
import select
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pyspark_pulsar.catalog.settings import CatalogSettings, parse_settings
from pyspark_pulsar.errors import (
    CatalogUnsupported,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    OptionError,
    PermissionDenied,
    PulsarError,
    SchemaError,
    TopicExistsError,
    TopicNameError,
    TopicNotFoundError,
    printable,
)
from pyspark_pulsar.spark.logging import follow_levels

IDLE_SECONDS: Final = 600.0
"""Without a request for so long the process ends; the JVM starts another when it needs one."""

_KINDS: Final = (
    (TopicNotFoundError, "NoSuchTable"),
    (TopicExistsError, "TableExists"),
    (NamespaceNotFoundError, "NoSuchNamespace"),
    (NamespaceExistsError, "NamespaceExists"),
    (NamespaceNotEmptyError, "NamespaceNotEmpty"),
    (CatalogUnsupported, "Unsupported"),
    (PermissionDenied, "Denied"),
)
_FAILED: Final = "Failed"
_CHUNK: Final = 1 << 16

Send = Callable[[Mapping[str, Any]], None]


def serve(questions: Iterator[bytes], send: Send) -> None:
    """Answer until the questions end. What `send` raises, such as `BrokenPipeError`, ends it too."""
    first = next(questions, None)
    if first is None:
        return
    try:
        settings = _settings(first)
    except Exception as fault:  # noqa: BLE001 - the JVM is told whatever it is
        send({"error": _error("", fault)})
        return
    send({"ready": True})
    # Heavy, and not needed to say whether the settings are right.
    from pyspark_pulsar.catalog.cluster import Cluster

    with Cluster(settings) as cluster:
        for line in questions:
            send(_answer(cluster, line))


def lines(source: int, idle_seconds: float = IDLE_SECONDS) -> Iterator[bytes]:
    """The lines that come over a file descriptor, without their ends; it is over at the end of the file, or when for so
    long none has come. What follows the last line's end is no line."""
    rest = b""
    while select.select([source], [], [], idle_seconds)[0]:
        chunk = os.read(source, _CHUNK)
        if not chunk:
            return
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def sender(target: int) -> Send:
    """Writes answers to a file descriptor, each at once and whole."""

    def send(answer: Mapping[str, Any]) -> None:
        # ASCII throughout: also names that no UTF-8 can have find their way back.
        left = memoryview(json.dumps(answer).encode() + b"\n")
        while left:
            left = left[os.write(target, left) :]

    return send


def _settings(line: bytes) -> CatalogSettings:
    document = _document(line)
    catalog, settings = document.get("catalog"), document.get("settings")
    if not isinstance(catalog, str) or not isinstance(settings, dict):
        raise OptionError(
            "the first line: expected a JSON object with the catalog's name and its settings, got another"
        )
    return parse_settings(catalog, settings)


def _answer(cluster: Any, line: bytes) -> dict[str, Any]:
    number, call = None, ""
    try:
        request = _document(line)
        number, call = request.get("id"), str(request.get("call"))
        follow_levels(request.get("log"))
        return {"id": number, "result": _called(cluster, call, request.get("arguments") or {})}
    except Exception as fault:  # noqa: BLE001 - one request must not end the others
        return {"id": number, "error": _error(call, fault)}


def _called(cluster: Any, call: str, arguments: Mapping[str, Any]) -> Any:
    from pyspark_pulsar.catalog.calls import CALLS

    if call not in CALLS:
        raise OptionError(f"call {call!r}: expected one of {', '.join(CALLS)}, got another")
    return CALLS[call](cluster, **arguments)


def _document(line: bytes) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise OptionError("a line of the catalog's protocol: expected a JSON object, got something else")
    return document


def _error(call: str, fault: Exception) -> dict[str, str]:
    if not isinstance(fault, PulsarError):
        traceback.print_exception(fault)
        return {"kind": _FAILED, "message": printable(f"{type(fault).__name__}: {fault}")}
    return {"kind": _kind(call, fault), "message": str(fault)}


def _kind(call: str, fault: PulsarError) -> str:
    """What Spark makes of it also depends on what it asked for."""
    changes = call.startswith(("create_", "alter_", "drop_"))
    if isinstance(fault, TopicNameError) and not call.startswith("create_"):
        about_table = call.endswith("_table") or call in ("table_properties", "rows")
        return "NoSuchTable" if about_table else "NoSuchNamespace"
    if changes and isinstance(fault, (OptionError, SchemaError)):
        return "Unsupported"
    return next((kind for leaf, kind in _KINDS if isinstance(fault, leaf)), _FAILED)
