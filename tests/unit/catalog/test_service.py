"""The loop over lines: what is answered to what, and how it ends."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pyspark_pulsar.catalog import calls
from pyspark_pulsar.catalog.service import lines, sender, serve
from pyspark_pulsar.errors import (
    CatalogUnsupported,
    ConnectionFailed,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    OptionError,
    PermissionDenied,
    SchemaError,
    TopicExistsError,
    TopicNameError,
    TopicNotFoundError,
)

FIRST = json.dumps({"catalog": "pulsar", "settings": {"service.url": "pulsar://localhost:1"}}).encode()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Mapping[str, Any]]]:
    """`answers(*requests)`, behind a good first line; call `echo` gives its arguments back, or raises `fault`."""

    def run(*requests: Any, fault: Exception | None = None, call: str = "echo") -> list[Mapping[str, Any]]:
        def echo(cluster: Any, **arguments: Any) -> Any:
            if fault is not None:
                raise fault
            return arguments

        monkeypatch.setattr(calls, "CALLS", {call: echo})
        sent: list[Mapping[str, Any]] = []
        texts = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in requests)
        serve(iter([FIRST, *texts]), sent.append)
        assert sent[0] == {"ready": True}
        return sent[1:]

    return run


def test_requests_are_answered_in_order(answers: Any) -> None:
    asked = [
        {"id": number, "call": "echo", "arguments": {"set": {"a": "ü"}, "n": number}} for number in (1, 2)
    ]
    assert answers(*asked) == [
        {"id": number, "result": {"set": {"a": "ü"}, "n": number}} for number in (1, 2)
    ]


@pytest.mark.parametrize("line", [b"", b"nonsense", b"\xff\xfe", b"[1]", b"[" * 100_000])
def test_garbage_does_not_end_it(answers: Any, line: bytes) -> None:
    first, second = answers(line, {"id": 7, "call": "echo"})
    assert first["id"] is None
    assert first["error"]["kind"] == "Failed"
    assert second == {"id": 7, "result": {}}


def test_an_unknown_call(answers: Any) -> None:
    (answer,) = answers({"id": 1, "call": "eho", "arguments": {}})
    assert answer["id"] == 1
    assert "expected one of echo" in answer["error"]["message"]


def test_arguments_that_are_none(answers: Any) -> None:
    (answer,) = answers({"id": 1, "call": "echo", "arguments": [1]})
    assert answer["error"]["kind"] == "Failed"


@pytest.mark.parametrize(
    ("call", "fault", "kind"),
    [
        ("load_table", TopicNotFoundError("x"), "NoSuchTable"),
        ("load_table", TopicNameError("x"), "NoSuchTable"),
        ("load_table", SchemaError("x"), "Failed"),
        ("load_table", ConnectionFailed("x"), "Failed"),
        ("load_table", PermissionDenied("x"), "Denied"),
        ("rows", OptionError("x"), "Failed"),
        ("rows", CatalogUnsupported("x"), "Unsupported"),
        ("list_tables", NamespaceNotFoundError("x"), "NoSuchNamespace"),
        ("list_tables", TopicNameError("x"), "NoSuchNamespace"),
        ("create_table", TopicExistsError("x"), "TableExists"),
        ("create_table", TopicNameError("x"), "Unsupported"),
        ("create_table", OptionError("x"), "Unsupported"),
        ("alter_table", SchemaError("x"), "Unsupported"),
        ("alter_table", TopicNameError("x"), "NoSuchTable"),
        ("create_namespace", NamespaceExistsError("x"), "NamespaceExists"),
        ("drop_namespace", NamespaceNotEmptyError("x"), "NamespaceNotEmpty"),
        ("drop_namespace", TopicNameError("x"), "NoSuchNamespace"),
    ],
)
def test_kinds_of_errors(answers: Any, call: str, fault: Exception, kind: str) -> None:
    (answer,) = answers({"id": 1, "call": call}, fault=fault, call=call)
    assert answer == {"id": 1, "error": {"kind": kind, "message": "x"}}


def test_what_nobody_expected_is_told_with_its_type(answers: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = answers({"id": 1, "call": "echo"}, fault=KeyError("k"))
    assert answer["error"] == {"kind": "Failed", "message": "KeyError: 'k'"}
    found = capsys.readouterr()
    assert "Traceback" in found.err
    assert not found.out


@pytest.mark.parametrize(
    "first", [b"nonsense", b"[]", b'{"catalog": "p"}', b'{"catalog": "p", "settings": {"service.url": 1}}']
)
def test_a_bad_first_line_ends_it(first: bytes) -> None:
    sent: list[Mapping[str, Any]] = []
    serve(iter([first, b'{"id": 1}']), sent.append)
    assert len(sent) == 1
    assert sent[0]["error"]["kind"] == "Failed"


def test_no_line_at_all() -> None:
    serve(iter([]), pytest.fail)


# Descriptors


def test_lines_come_whole() -> None:
    source, target = os.pipe()

    def write() -> None:
        for part in (b"a\nb", b"c\n", b"x" * 200_000 + b"\n", b"rest"):
            os.write(target, part)
        os.close(target)

    thread = threading.Thread(target=write)
    thread.start()
    assert list(lines(source, 10.0)) == [b"a", b"bc", b"x" * 200_000]
    thread.join()
    os.close(source)


def test_nothing_for_long_ends_it() -> None:
    source, target = os.pipe()
    assert list(lines(source, 0.01)) == []
    os.close(target)
    os.close(source)


def test_answers_are_ascii_lines() -> None:
    source, target = os.pipe()
    sender(target)({"id": 1, "result": "ü\n\ud800"})
    os.close(target)
    text = os.read(source, 1000)
    os.close(source)
    assert text.endswith(b"\n")
    assert text.count(b"\n") == 1
    assert json.loads(text) == {"id": 1, "result": "ü\n\ud800"}


def test_a_reader_that_went_away() -> None:
    source, target = os.pipe()
    os.close(source)
    with pytest.raises(BrokenPipeError):
        sender(target)({"ready": True})
    os.close(target)
