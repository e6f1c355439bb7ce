"""Answers of the catalog's process to calls and to settings."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pyspark_pulsar.catalog.process import calls
from pyspark_pulsar.catalog.process.service import CatalogService
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
from pyspark_pulsar.spark.service import serve

FIRST = {"catalog": "pulsar", "settings": {"service.url": "pulsar://localhost:1"}}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Mapping[str, Any]]]:
    """`answers(*requests)`, after good settings; call `echo` returns its arguments, or raises `fault`."""

    def run(
        *requests: Mapping[str, Any], fault: Exception | None = None, call: str = "echo"
    ) -> list[Mapping[str, Any]]:
        def echo(cluster: Any, **arguments: Any) -> Any:
            if fault is not None:
                raise fault
            return arguments

        monkeypatch.setattr(calls, "CALLS", {call: echo})
        sent = served(FIRST, *requests)
        assert sent[0] == {"ready": True}
        return sent[1:]

    return run


def served(*headers: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The headers of the answers."""
    sent: list[Mapping[str, Any]] = []
    frames = iter([(dict(each), b"") for each in headers])
    serve(CatalogService(), lambda: next(frames, None), lambda header, body: sent.append(header))
    return sent


def test_requests_are_answered_in_order(answers: Any) -> None:
    asked = [
        {"id": number, "call": "echo", "arguments": {"set": {"a": "ü"}, "n": number}} for number in (1, 2)
    ]
    assert answers(*asked) == [
        {"id": number, "result": {"set": {"a": "ü"}, "n": number}} for number in (1, 2)
    ]


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


def test_an_unexpected_error_is_reported_with_its_type(
    answers: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (answer,) = answers({"id": 1, "call": "echo"}, fault=KeyError("k"))
    assert answer["error"] == {"kind": "Failed", "message": "KeyError: 'k'"}
    found = capsys.readouterr()
    assert "Traceback" in found.err
    assert not found.out


@pytest.mark.parametrize("first", [{}, {"catalog": "p"}, {"catalog": "p", "settings": {"service.url": 1}}])
def test_bad_settings_end_the_process(first: Mapping[str, Any]) -> None:
    (answer,) = served(first, {"id": 1})
    assert answer["error"]["kind"] == "Failed"
