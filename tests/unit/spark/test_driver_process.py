"""The process that plans on the driver, talked to as the JVM does: its start, strangers, and first programs at once."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_PLANNERS = "pyspark.sql.worker"
_STREAM = "pyspark_pulsar.spark.stream_program"
_PROGRAMS = (
    f"{_PLANNERS}.create_data_source",
    f"{_PLANNERS}.data_source_pushdown_filters",
    f"{_PLANNERS}.plan_data_source_read",
    f"{_PLANNERS}.write_into_data_source",
    f"{_PLANNERS}.commit_data_source_write",
    f"{_PLANNERS}.python_streaming_sink_runner",
    _STREAM,
    "pyspark_pulsar.read.batch.summary",
)
_SECONDS = 60.0


@contextmanager
def driver_process(**environment: str) -> Iterator[dict[str, Any]]:
    """Start one; gives the line that it writes for the JVM."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pyspark_pulsar.spark.driver_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.stdout.close()
        assert process.wait(_SECONDS) == 0


def introduced(hello: dict[str, Any]) -> socket.socket:
    """A connection on which both sides have proven who they are."""
    connection = socket.create_connection((hello["host"], hello["port"]), _SECONDS)
    connection.sendall(bytes.fromhex(hello["asks"]))
    answer = b""
    while len(answer) < 32:
        answer += connection.recv(32 - len(answer))
    assert answer.hex() == hello["answers"]
    return connection


def ask_nothing(hello: dict[str, Any], program: str) -> bytes:
    """What the program answers to the end of its input."""
    with introduced(hello) as connection:
        connection.sendall(len(program).to_bytes(4, "big") + program.encode())
        connection.shutdown(socket.SHUT_WR)
        return received(connection)


def received(connection: socket.socket) -> bytes:
    answer = b""
    while part := connection.recv(1 << 16):
        answer += part
    return answer


@pytest.mark.parametrize("kind", ["long", "missing", "not writable"])
def test_it_starts_whatever_tmpdir_is(kind: str, tmp_path: Path) -> None:
    """The path of a Unix socket holds about 100 bytes."""
    folder = tmp_path / ("d" * 200 if kind == "long" else "folder")
    if kind != "missing":
        folder.mkdir(mode=0o500 if kind == "not writable" else 0o700)
    with driver_process(TMPDIR=str(folder)) as hello:
        assert b"EOFError" in ask_nothing(hello, _STREAM)
    if kind != "missing":
        assert list(folder.iterdir()) == []


def test_all_first_programs_at_once() -> None:
    """Modules that import each other are not imported by several threads at once."""
    answers = {}
    for _ in range(2):
        with driver_process() as hello, ThreadPoolExecutor(len(_PROGRAMS)) as pool:
            answers = dict(
                zip(_PROGRAMS, pool.map(lambda name: ask_nothing(hello, name), _PROGRAMS), strict=True)
            )
        expected = {
            name: b"nothing to read" if name.endswith("summary") else b"EOFError" for name in _PROGRAMS
        }
        assert [name for name in _PROGRAMS if expected[name] not in answers[name]] == [], answers


def test_a_stranger_gets_nothing() -> None:
    """Everybody on the machine may connect to the port."""
    with driver_process() as hello:
        with socket.create_connection((hello["host"], hello["port"]), _SECONDS) as stranger:
            stranger.sendall(bytes.fromhex(hello["answers"]))
            assert received(stranger) == b""
        with socket.create_connection((hello["host"], hello["port"]), _SECONDS) as silent:
            # One that says nothing holds up nobody.
            assert b"EOFError" in ask_nothing(hello, _STREAM)
            silent.shutdown(socket.SHUT_WR)
            assert received(silent) == b""
