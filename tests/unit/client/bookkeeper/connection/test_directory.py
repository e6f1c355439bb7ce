"""Tests of the directory of bookies' addresses: answers, failures, and the number of requests.

The server is Python's own HTTP server. Tests in tests/integration/cluster use a real Pulsar and BookKeeper.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.bookkeeper.connection import directory
from pyspark_pulsar.client.bookkeeper.connection.directory import Directory, KnownDirectories, find_addresses
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied, ProtocolError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.security import TOKEN

RACKS = "/admin/v2/bookies/racks-info"
CONFIG = "/api/v1/config/server_config"
LIST = "/api/v1/bookie/list_bookies?type={}&print_hostnames=true"
NAMES = ("bk-0", "bk-1", "bk-2", "10.0.0.1:3181")


class Answers:
    """A server with fixed answers by path. The answer for any other path has the status 403."""

    def __init__(self) -> None:
        self.by_path: dict[str, Any] = {}
        self.asked: list[str] = []
        answers = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers.asked.append(self.path)
                body = json.dumps(answers.by_path.get(self.path)).encode()
                self.send_response(200 if self.path in answers.by_path else 403)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    monkeypatch.setattr(directory, "_DIRECTORIES", KnownDirectories())
    answers = Answers()
    yield answers
    answers.server.shutdown()
    answers.server.server_close()


def resolve(answers: Answers, names: tuple[str, ...] = NAMES, **options: Any) -> Directory:
    given = ReadOptions(service_url="pulsar://h:1", admin_url=answers.url, topic="t", **options)
    with AdminClient(given) as admin:
        return find_addresses(given, admin, names)


def test_addresses_from_operators_take_precedence_over_those_from_bookies(answers: Answers) -> None:
    answers.by_path = {
        RACKS: {
            "g": {"bk-0": {"rack": "/r", "hostname": "a:3182"}},
            "h": {"bk-1": {"hostname": "b"}, "x": {}},
        },
        CONFIG: {"bookiePort": "3199"},
        LIST.format("rw"): {"bk-1": "other", "bk-2": "c", "10.0.0.1:3181": "d"},
        LIST.format("ro"): {"bk-9": "e", "bk-8": None},
    }
    assert resolve(answers).addresses == {"bk-0": "a:3182", "bk-1": "b:3181"}
    told = resolve(answers, bookie_http_url=answers.url)
    assert told == Directory({"bk-0": "a:3182", "bk-1": "b:3181", "bk-2": "c:3199"})


def test_addresses_are_requested_rarely_and_only_if_an_id_is_no_address(answers: Answers) -> None:
    answers.by_path = {RACKS: {}}
    assert resolve(answers, NAMES[-1:]) == Directory({})
    assert resolve(answers, ("bk-0",), bookie_addresses=(("bk-0", "h:1"),)) == Directory({})
    assert answers.asked == []
    for _ in range(3):
        assert resolve(answers) == Directory({})
    assert answers.asked == [RACKS]


def test_addresses_that_one_role_may_see_are_hidden_from_another(answers: Answers) -> None:
    answers.by_path = {RACKS: {"g": {"bk-0": {"hostname": "a"}}}}
    assert resolve(answers).addresses == {"bk-0": "a:3181"}
    answers.by_path = {}
    refused = resolve(answers, auth_plugin=TOKEN, auth_params="token:other")
    assert (refused.addresses, type(refused.fault)) == ({}, PermissionDenied)
    assert resolve(answers) == Directory({"bk-0": "a:3181"}), "nor is the refusal of the other one"


def test_a_second_server_may_know_what_the_first_does_not(answers: Answers) -> None:
    told = resolve(answers, bookie_http_url="http://127.0.0.1:1")
    assert told.addresses == {}
    assert isinstance(told.fault, PermissionDenied)
    answers.by_path = {CONFIG: {}, LIST.format("rw"): {"bk-2": "c"}, LIST.format("ro"): {}}
    told = resolve(answers, bookie_http_url=answers.url)
    assert told.addresses == {"bk-2": "c:3181"}
    assert isinstance(told.fault, PermissionDenied)


@pytest.mark.parametrize("answer", [[], None, {"bk-0": {"hostname": "a"}}])
def test_an_answer_of_another_form_is_refused(answers: Answers, answer: Any) -> None:
    answers.by_path = {RACKS: answer, CONFIG: answer}
    told = resolve(answers, bookie_http_url=answers.url)
    assert told.addresses == {}
    assert isinstance(told.fault, ProtocolError) or answer is None
    answers.by_path = {RACKS: {}}
    fault = resolve(answers, bookie_http_url="http://127.0.0.1:1").fault
    assert isinstance(fault, ConnectionFailed)
    assert "bookieHttpUrl" in str(fault)
