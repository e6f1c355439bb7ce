"""`python -m pyspark_pulsar.spark.driver_process`: Spark's planning programs, in one process that the JVM keeps.

For a source in Python Spark has a program for each step on the driver (`pyspark.sql.worker`: make the source, push
filters, plan a read, plan a write, commit). It starts each in a process of its own, which imports everything again. The
jar runs them here, and programs of this package beside them.

The first line of standard output is JSON: the Python version, host and port to connect to, and two secrets in
hexadecimal. The port is on the loopback interface, as those of Spark's own Python workers are: a Unix socket would
need a folder, whose path can be too long and which cleaners of /tmp remove (decision 0061). Each connection begins with
both sides proving that they have read or written that line:

    from    | sends
    the JVM | the secret `asks`
    here    | the secret `answers`
    the JVM | a program's name, a space, and the levels of the session's log (`spark.logging.follow_levels`), with a
            | u32 length before them (big endian, ASCII)

From there on a connection carries what the program's own process would read from Spark and write to it. Programs run in
a thread each, at the same time, once all modules that programs need are imported: modules that import each other cannot
be imported by several threads at once.

The process ends with its standard input, whose other end the JVM holds.
"""

from __future__ import annotations

import contextlib
import gc
import hmac
import json
import os
import secrets
import socket
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.jvm_streams import take_standard_streams
from pyspark_pulsar.spark.logging import follow_levels, show_warnings
from pyspark_pulsar.spark.python_path import add_pyspark
from pyspark_pulsar.spark.tracebacks import HIDES_TRACEBACKS, keeps_tracebacks

if TYPE_CHECKING:
    from collections.abc import Callable

_PLANNERS: Final = "pyspark.sql.worker"
_PROGRAMS: Final = (
    f"{_PLANNERS}.create_data_source",
    f"{_PLANNERS}.data_source_pushdown_filters",
    f"{_PLANNERS}.plan_data_source_read",
    f"{_PLANNERS}.write_into_data_source",
    f"{_PLANNERS}.commit_data_source_write",
    f"{_PLANNERS}.python_streaming_sink_runner",
    "pyspark_pulsar.spark.stream_program",
    # What a batch that is planned reads.
    "pyspark_pulsar.read.batch.summary",
)

_OWN: Final = (
    "pyspark_pulsar.datasource",
    "pyspark_pulsar.read.batch.batch_reader",
    "pyspark_pulsar.read.microbatch.stream_reader",
    "pyspark_pulsar.write.batch",
    "pyspark_pulsar.write.stream",
)
_BUFFER: Final = 1 << 16
_BACKLOG: Final = 128
_PAUSE_SECONDS: Final = 0.2
_SECRET_BYTES: Final = 32
_PROOF_SECONDS: Final = 30.0
"""How long a connection may take to show that it is the JVM's, which sends that first."""


def main() -> None:
    answers, requests = take_standard_streams()
    show_warnings()
    add_pyspark()
    # Users see the error alone, without the frames that led to it.
    if not keeps_tracebacks():
        os.environ[HIDES_TRACEBACKS] = "1"
    with _listener() as listener:
        host, port = listener.getsockname()[:2]
        proof = _Proof(secrets.token_bytes(_SECRET_BYTES), secrets.token_bytes(_SECRET_BYTES))
        hello = {
            "version": "{}.{}".format(*sys.version_info),
            "host": host,
            "port": port,
            "asks": proof.asks.hex(),
            "answers": proof.answers.hex(),
        }
        os.write(answers, json.dumps(hello).encode() + b"\n")
        imported = threading.Event()
        threading.Thread(target=_import, args=(imported,), name="import", daemon=True).start()
        threading.Thread(target=_serve, args=(listener, proof, imported), name="serve", daemon=True).start()
        while os.read(requests, _BUFFER):
            pass
    # Programs may still wait for brokers that do not answer; nobody waits for them.
    os._exit(0)


@dataclass(frozen=True, slots=True)
class _Proof:
    """What each side of a connection sends to show that it is no stranger."""

    asks: bytes
    answers: bytes


def _listener() -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    except OSError:
        # A machine with IPv6 alone.
        return socket.create_server(("::1", 0), family=socket.AF_INET6, backlog=_BACKLOG)


def _import(imported: threading.Event) -> None:
    """Import what nearly every program needs, while the JVM prepares the first request."""
    try:
        for module in (*_PROGRAMS, *_OWN):
            # A program that needs what cannot be imported tells Spark so.
            with contextlib.suppress(Exception):
                import_module(module)
        gc.collect()
        gc.freeze()
    finally:
        imported.set()


def _serve(listener: socket.socket, proof: _Proof, imported: threading.Event) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            # Too many files are open: some are closed in a moment.
            time.sleep(_PAUSE_SECONDS)
            continue
        try:
            threading.Thread(
                target=_converse, args=(connection, proof, imported), name="program", daemon=True
            ).start()
        except RuntimeError:
            # Too many threads: the end of the connection is the answer.
            connection.close()


def _converse(connection: socket.socket, proof: _Proof, imported: threading.Event) -> None:
    # Nobody listens any more where the query was stopped.
    with contextlib.suppress(OSError), connection:
        if not _is_ours(connection, proof):
            return
        with connection.makefile("rwb", _BUFFER) as stream:
            length = int.from_bytes(stream.read(4), "big")
            name, _, levels = stream.read(length).decode("ascii").partition(" ")
            follow_levels(levels or None)
            imported.wait()
            if name in _PROGRAMS:
                _run(name, stream)


def _is_ours(connection: socket.socket, proof: _Proof) -> bool:
    """Whether the other side is the JVM. Anybody on this machine may connect."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    deadline = time.monotonic() + _PROOF_SECONDS
    given = b""
    while len(given) < len(proof.asks):
        connection.settimeout(max(_PAUSE_SECONDS, deadline - time.monotonic()))
        part = connection.recv(len(proof.asks) - len(given))
        if not part or time.monotonic() > deadline:
            return False
        given += part
    if not hmac.compare_digest(given, proof.asks):
        return False
    connection.settimeout(None)
    connection.sendall(proof.answers)
    return True


def _program(name: str) -> Callable[[Any, Any], None]:
    """The function that reads a request and writes the answer.

    `_main` of Spark's programs leaves out what their process does before and after it: to set up files and profilers,
    and to hand back accumulators, which this data source has none of. In Spark 4.1 they have `main` alone, which does
    all of it; the jar then sends what that reads (`DriverPrograms`).
    """
    module = import_module(name)
    program: Callable[[Any, Any], None] = getattr(module, "_main", None) or module.main
    return program


def _run(name: str, stream: Any) -> None:
    """Run the program, and tell Spark whatever it raises, as its own process does."""
    from pyspark.util import handle_worker_exception

    try:
        _program(name)(stream, stream)
    except SystemExit as end:
        # A program of Spark 4.1, which has told what it failed of.
        _log(end.__context__)
    except PulsarError as fault:
        if keeps_tracebacks():
            handle_worker_exception(fault, stream)
        else:
            _tell(fault, stream)
    except BaseException as fault:  # noqa: BLE001 -- Spark is told whatever it is
        handle_worker_exception(fault, stream)
        _log(fault)
    stream.flush()


def _tell(fault: PulsarError, stream: Any) -> None:
    """As `handle_worker_exception` without frames, and without the line end, behind which Spark would put the last of
    its own words on a line for themselves."""
    from pyspark.serializers import SpecialLengths, write_int, write_with_length

    text = "".join(traceback.format_exception_only(fault)).removesuffix("\n")
    write_int(SpecialLengths.PYTHON_EXCEPTION_THROWN, stream)  # type: ignore[no-untyped-call]
    write_with_length(text.encode(), stream)  # type: ignore[no-untyped-call]


def _log(fault: BaseException | None) -> None:
    """Where it was raised, if it is a fault of this package: errors that are meant for users say all themselves, and
    the end of a connection is that of a query which was stopped."""
    if fault is not None and not isinstance(fault, PulsarError | EOFError | ConnectionError):
        traceback.print_exception(fault)


if __name__ == "__main__":
    main()
