"""The loop that answers the JVM's calls: calls at the same time, errors, and its end."""

from __future__ import annotations

import json
import os
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.spark.frames import Frame, read_frame, sender
from pyspark_pulsar.spark.service import Answer, describe_error, find_call, serve

_SECONDS = 30.0


class Echo:
    """Answers with its arguments and its body, when all calls of a `barrier` are under way."""

    idle_seconds = None

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.barrier = threading.Barrier(threads)
        self.closed = False

    def start(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        if "wrong" in settings:
            raise OptionError("wrong")
        return {"version": "3"}

    def open(self) -> None:
        pass

    def answer(self, call: str, arguments: Mapping[str, Any], body: bytes) -> Answer:
        return find_call({"echo": self._echo, "meet": self._meet, "bad": self._bad}, call)(arguments, body)

    def error(self, call: str, fault: Exception) -> dict[str, str]:
        if call == "bad":
            raise ValueError("no error either")
        return describe_error(fault, lambda _: "Known")

    def close(self) -> None:
        self.closed = True

    def _echo(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        return arguments.get("result"), body

    def _meet(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        self.barrier.wait(_SECONDS)
        return None, b""

    def _bad(self, arguments: Mapping[str, Any], body: bytes) -> Answer:
        raise KeyError("k")


def served(service: Echo, *frames: Frame) -> list[Frame]:
    """Return all answers, in the order in which they are sent."""
    answers: list[Frame] = []
    left, all_sent = iter([({}, b""), *frames]), threading.Semaphore(0)

    def send(header: Mapping[str, Any], body: bytes) -> None:
        answers.append((json.loads(json.dumps(header)), body))
        all_sent.release()

    def receive() -> Frame | None:
        frame = next(left, None)
        if frame is None:
            for _ in range(len(frames) + 1):
                assert all_sent.acquire(timeout=_SECONDS)
        return frame

    serve(service, receive, send)
    assert service.closed
    assert answers[0] == ({"ready": True, "version": "3"}, b"")
    return answers[1:]


@pytest.mark.parametrize("threads", [1, 8])
def test_each_call_has_the_answer_of_its_id(threads: int) -> None:
    frames = [({"id": n, "call": "echo", "arguments": {"result": {"n": n}}}, b"%d" % n) for n in range(100)]
    answers = served(Echo(threads), *frames)
    expected = [({"id": n, "result": {"n": n}}, b"%d" % n) for n in range(100)]
    if threads > 1:
        answers.sort(key=lambda answer: answer[0]["id"])
    assert answers == expected


def test_as_many_calls_as_threads_are_under_way() -> None:
    answers = served(Echo(8), *[({"id": n, "call": "meet"}, b"") for n in range(16)])
    assert sorted(answer[0]["id"] for answer in answers) == list(range(16))


def test_errors_of_each_kind_and_answers_that_are_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    answers = served(
        Echo(1),
        ({"id": 1, "call": "eho"}, b""),
        ({"id": 2, "call": "bad"}, b""),
        ({"id": 3, "call": "echo", "arguments": {"result": {1j}}}, b""),
        ({"id": 4, "call": "echo"}, b"still here"),
    )
    errors = [header.get("error") for header, _ in answers]
    assert errors[0] == {
        "kind": "Known",
        "message": "call 'eho': expected one of echo, meet, bad, got another",
    }
    assert errors[1] == {"kind": "Failed", "message": "ValueError: no error either"}
    assert errors[2]["message"].startswith("TypeError: ")
    assert answers[3] == ({"id": 4, "result": None}, b"still here")
    found = capsys.readouterr()
    assert "Traceback" in found.err
    assert not found.out


def test_settings_that_are_refused_end_it() -> None:
    answers: list[Mapping[str, Any]] = []
    frames = iter([({"wrong": 1}, b""), ({"id": 1}, b"")])
    serve(Echo(1), lambda: next(frames, None), lambda header, body: answers.append(header))
    assert answers == [{"error": {"kind": "Known", "message": "wrong"}}]


def test_no_frame_at_all() -> None:
    serve(Echo(1), lambda: None, _fail)


def _fail(header: Mapping[str, Any], body: bytes) -> None:
    pytest.fail(f"{header}")


@pytest.mark.parametrize("line", [b"", b"nonsense", b"\xff\xfe", b"[1]", b"[" * 50_000])
def test_garbage_does_not_end_the_process(line: bytes) -> None:
    source, target = os.pipe()
    sender(target)({}, b"")
    os.write(target, struct.pack(">II", len(line), 0) + line)
    sender(target)({"id": 7, "call": "echo"}, b"")
    os.close(target)
    answers: list[Mapping[str, Any]] = []
    serve(Echo(1), lambda: read_frame(source), lambda header, body: answers.append(header))
    os.close(source)
    _, first, second = answers
    assert first["id"] is None
    assert first["error"]["kind"] == "Failed"
    assert second == {"id": 7, "result": None}


def test_a_closed_output_ends_the_loop() -> None:
    def closed_output(header: Mapping[str, Any], body: bytes) -> None:
        if "id" in header:
            raise BrokenPipeError

    frames: Callable[[], Frame] = iter([({}, b""), ({"id": 1, "call": "echo"}, b"")]).__next__
    service = Echo(1)
    with pytest.raises(BrokenPipeError):
        serve(service, frames, closed_output)
    assert service.closed
