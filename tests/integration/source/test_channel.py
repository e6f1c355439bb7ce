"""The channel between the JVM and Python: a JVM without Spark, and a service that dies, stops and sleeps on demand."""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from fixtures.doc_pages import ROOT
from integration.official import await_true
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from pyspark_pulsar import catalog_jar

_SECONDS = 60.0


@pytest.fixture(scope="module")
def gateway() -> Iterator[JavaGateway]:
    jars = Path(pyspark.__path__[0], "jars")
    (py4j,) = jars.glob("py4j-*.jar")
    port = launch_gateway(
        jarpath=str(py4j),
        classpath=f"{catalog_jar()}:{jars}/*",
        javaopts=["-XX:TieredStopAtLevel=1"],
        die_on_exit=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    yield gateway
    # An object of the JVM that is collected later would need the JVM.
    gc.collect()
    gateway.shutdown()


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an interpreter that can import the programs of the tests."""
    script = tmp_path_factory.mktemp("bin") / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT}/tests/programs exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return str(script)


@dataclass(frozen=True)
class Answered:
    pid: int
    arguments: Any
    body: bytes


@dataclass(frozen=True)
class Channel:
    """A `PythonProcess` of the jar."""

    java: Any
    process: Any

    def call(
        self,
        name: str,
        retry: str = "IDEMPOTENT",
        body: bytes = b"",
        *,
        patience: bool = True,
        **arguments: Any,
    ) -> Answered:
        answer = self.answer(name, retry, body, **arguments)
        result = json.loads(answer.result().toString())
        return Answered(result["pid"], result["arguments"], bytes(answer.body()))

    def answer(self, name: str, retry: str, body: bytes, **arguments: Any) -> Any:
        call = self.java.Call(
            name, f"the echo, {name}", getattr(self.java, "Call$Retry").valueOf(retry), "look"
        )
        return self.process.call(call, self.tree(arguments), body, len(body))

    def tree(self, arguments: Any) -> Any:
        return self.java.json.readTree(json.dumps(arguments))

    def refused(self, name: str, retry: str = "IDEMPOTENT", body: bytes = b"", **arguments: Any) -> str:
        """Return the class and the message of the exception."""
        with pytest.raises(Py4JJavaError) as caught:
            self.answer(name, retry, body, **arguments)
        return str(caught.value.java_exception.toString())


class _Java:
    """The classes of the jar, by their names."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._package = gateway.jvm.org.pysparkpulsar.process
        self.json = gateway.jvm.com.fasterxml.jackson.databind.ObjectMapper()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._package, name)


Opened = Callable[..., Channel]


@pytest.fixture
def channel(gateway: JavaGateway, interpreter: str, request: pytest.FixtureRequest) -> Opened:
    """Yield `channel(at_once, seconds, patience, python)`, for this test alone. Equal arguments share a process."""

    def opened(
        at_once: int = 4,
        seconds: int = 60,
        patience: int = 5,
        python: str = interpreter,
        client: JavaGateway = gateway,
        module: str = "echo_service",
        **settings: Any,
    ) -> Channel:
        java = _Java(client)
        service = java.Service("the echo", module, at_once, seconds, patience)
        first = java.json.readTree(json.dumps({"threads": at_once, "of": request.node.name, **settings}))
        return Channel(java, java.PythonProcess.of(service, python, first))

    return opened


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return the path of a file that does not exist yet."""
    return tmp_path / "mark"


def test_concurrent_calls_get_their_own_answers(channel: Opened, tmp_path: Path) -> None:
    echo, bodies = channel(at_once=8), [bytes([number]) * (100_000 * number) for number in range(8)]
    echo.call("echo")
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda n: echo.call("sleep", "ONCE", bodies[n], mark=str(tmp_path / str(n)), seconds=1.0),
                range(8),
            )
        )
    assert time.monotonic() - began < 5
    assert [answer.body for answer in answers] == bodies
    assert [answer.arguments["mark"] for answer in answers] == [str(tmp_path / str(n)) for n in range(8)]
    assert len({answer.pid for answer in answers}) == 1


def test_a_service_for_one_thread_gets_one_call_at_a_time(channel: Opened, tmp_path: Path) -> None:
    echo = channel(at_once=1, seconds=2)
    echo.call("echo")
    with ThreadPoolExecutor(3) as pool:
        # Together the calls run longer than the deadline of one, which begins when the call is sent.
        answers = list(
            pool.map(lambda n: echo.call("sleep", mark=str(tmp_path / str(n)), seconds=1.2), range(3))
        )
    assert len({answer.pid for answer in answers}) == 1


def test_a_killed_process_is_restarted(channel: Opened) -> None:
    echo = channel()
    for retry in ("IDEMPOTENT", "ONCE", "BOUND"):
        before = echo.call("echo").pid
        os.kill(before, signal.SIGKILL)
        await_true("the end of the process", lambda pid=before: not _exists(pid))
        assert echo.call("echo", retry, b"x").pid != before


def _exists(pid: int) -> bool:
    """Return whether the process exists; a zombie disappears, too, after the JVM has waited for it."""
    return Path(f"/proc/{pid}").exists()


def test_only_idempotent_calls_are_repeated(channel: Opened, tmp_path: Path) -> None:
    echo = channel()
    assert echo.call("die", "IDEMPOTENT", mark=str(tmp_path / "again")).arguments
    for retry in ("ONCE", "BOUND"):
        said = echo.refused("die", retry, mark=str(tmp_path / retry))
        assert said.startswith("java.io.IOException: the echo, die: expected an answer of its process")
        assert "-m echo_service" in said
        assert "it ended with exit code 7" in said
        assert "the disk is full" in said
        assert said.endswith("; look")
    with ThreadPoolExecutor(4) as pool:
        # Concurrent calls are repeated, too.
        others = [pool.submit(echo.call, "sleep", mark=str(tmp_path / str(n)), seconds=1.0) for n in range(3)]
        await_true("calls under way", lambda: all((tmp_path / str(n)).exists() for n in range(3)))
        assert "exit code 7" in echo.refused("die", "ONCE", mark=str(tmp_path / "beside"))
        assert len({other.result(_SECONDS).pid for other in others}) == 1


def test_unusable_interpreters_are_reported(channel: Opened, tmp_path: Path) -> None:
    """An error text names all interpreters, with the reason and the setting."""

    def script(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    own, lacks = f"PYTHONPATH={ROOT}/tests/programs exec {sys.executable}", f"exec {sys.executable} -S"
    reasons = {
        "/no/such/python": ": it does not start",
        script(
            "full", "echo the disk is full >&2; exit 7"
        ): ": it ended with exit code 7, and wrote: the disk is full",
        script(
            "bare", f'{lacks} "$@"'
        ): ", which reports: ModuleNotFoundError: No module named 'pyspark_pulsar'",
        script("talks", f'echo activated\n{lacks} "$@"'): ": it printed 'activated' instead of an answer",
        script("brief", f'echo hi\n{own} "$@"'): ": it printed 'hi' instead of an answer;",
    }
    for python, reason in reasons.items():
        module = "pyspark_pulsar.catalog" if python.endswith("bare") else "echo_service"
        echo = channel(python=python, module=module)
        for _ in range(2):
            said = echo.refused("echo")
            assert f"the echo: expected an interpreter with pyspark-pulsar, got {python}{reason}" in said
            assert "spark.pyspark.python" in said
            assert "spark.sql.catalog.<name>.python" in said


def test_refusals_do_not_restart_the_process(channel: Opened) -> None:
    wrong = channel(wrong="hue")
    assert wrong.refused("echo") == "org.pysparkpulsar.process.Refusal: the setting hue is wrong"
    echo = channel()
    before = echo.call("echo").pid
    with pytest.raises(Py4JJavaError) as caught:
        echo.answer("eho", "ONCE", b"")
    assert caught.value.java_exception.kind() == "Invalid"
    assert "expected one of echo" in str(caught.value.java_exception)
    assert echo.call("echo").pid == before


def test_a_process_that_hangs_is_ended(channel: Opened, mark: Path, tmp_path: Path) -> None:
    echo = channel(seconds=2)
    before = echo.call("echo").pid
    answered = echo.call("stop", mark=str(mark))
    assert answered.pid != before
    await_true("the end of the process", lambda: not _exists(before))
    said = echo.refused("stop", "ONCE", mark=str(tmp_path / "other"))
    assert "no answer arrived within 2 seconds" in said


def test_a_hanging_call_fails_without_the_others(channel: Opened, mark: Path) -> None:
    echo = channel(seconds=2)
    before = echo.call("echo").pid
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(echo.refused, "sleep", mark=str(mark), seconds=20.0)
        while not hanging.done():
            assert echo.call("echo", "BOUND").pid == before
        assert "no answer arrived within 2 seconds" in hanging.result()
    assert echo.call("echo", "BOUND").pid == before


@pytest.mark.parametrize(
    ("retry", "seconds", "is_interrupted"),
    [("IDEMPOTENT", 4.0, True), ("ONCE", 1.0, False), ("ONCE", 6.0, True)],
)
@pytest.mark.parametrize("at_once", [1, 4])
def test_a_cancelled_call_ends_its_process_or_completes(
    channel: Opened,
    gateway: JavaGateway,
    mark: Path,
    retry: str,
    seconds: float,
    is_interrupted: bool,
    at_once: int,
) -> None:
    """A cancelled call that changes something may end within its grace time; other calls are left
    immediately.
    """
    echo, ends = channel(at_once=at_once, patience=2), queue.Queue[Any]()
    before = echo.call("echo").pid
    # A thread of the JVM that stays interrupted closes its connection.
    client = JavaGateway(gateway_parameters=gateway.gateway_parameters)
    same = channel(at_once=at_once, patience=2, client=client)

    def run() -> None:
        ends.put(client.jvm.Thread.currentThread())
        try:
            ends.put(same.call("sleep", retry, mark=str(mark), seconds=seconds))
        except Py4JJavaError as fault:
            ends.put(fault.java_exception.toString())

    thread = threading.Thread(target=run)
    thread.start()
    waiting = ends.get(timeout=_SECONDS)
    # Until then nothing else uses this client, so the call runs on the interrupted thread.
    await_true("the call", mark.exists)
    began = time.monotonic()
    waiting.interrupt()
    end = ends.get(timeout=_SECONDS)
    passed = time.monotonic() - began
    thread.join()
    assert waiting.isInterrupted()
    client.close()
    if is_interrupted:
        assert end == (
            "java.io.InterruptedIOException: the echo, sleep: interrupted while waiting for an answer; run the query "
            "again"
        )
        assert passed < (1 if retry == "IDEMPOTENT" else seconds - 1)
    else:
        assert end.pid == before
    # The next call does not wait for an abandoned call.
    began = time.monotonic()
    assert (echo.call("echo").pid == before) == (at_once > 1 or not is_interrupted)
    assert time.monotonic() - began < 3


def test_a_restarted_process_resumes(channel: Opened) -> None:
    echo = channel()
    before = echo.call("echo").pid
    for key, what in (("a", "old"), ("a", "new"), ("b", "other")):
        echo.process.resume(key, "resume", echo.tree({"what": what}))
    echo.process.post("resume", echo.tree({"what": "told"}))
    await_true("what was told", lambda: resumed(echo) == ["told"])
    os.kill(before, signal.SIGKILL)
    await_true("what is resumed", lambda: resumed(echo) == ["new", "other"])


def resumed(echo: Channel) -> Any:
    return json.loads(echo.answer("resumed", "IDEMPOTENT", b"").result().toString())
