"""Tests of the admin REST client over real HTTP: redirects, retries, refusals, and secrets in errors.

The server is Python's own HTTP server with fixed answers. Tests in tests/integration use a real Pulsar.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    OptionError,
    PermissionDenied,
    ProtocolError,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ConnectionOptions

Answer = tuple[int, dict[str, str], bytes]
Serve = Callable[[Callable[[str], Answer]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server which answers a GET with `answer(path)`, and returns the URL."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Callable[[str], Answer]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = answer(self.path)
                self.send_response(status)
                for name, value in (headers | {"Content-Length": str(len(body))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def client(url: str, patience_ms: int | None = None, **options: int) -> AdminClient:
    return AdminClient(
        ConnectionOptions(service_url="pulsar://x:6650", admin_url=url, **options), patience_ms
    )


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode()


def test_names_are_escaped_and_partitions_named(serve: Serve) -> None:
    seen: list[str] = []

    def answer(path: str) -> Answer:
        seen.append(path)
        return 200, {}, b"{}"

    with client(serve(answer)) as admin:
        admin.topics.internal_info(TopicPartition.parse("t/n/Zoë%1-partition-3"))
        admin.topics.internal_stats(TopicPartition.parse("t/n/a?b"), metadata=True)
    assert seen == [
        "/admin/v2/persistent/t/n/Zo%C3%AB%251-partition-3/internal-info",
        "/admin/v2/persistent/t/n/a%3Fb/internalStats?metadata=true",
    ]


def test_a_redirect_leads_to_the_broker_that_owns_the_topic(serve: Serve) -> None:
    owner = serve(lambda path: (200, {}, as_json({"asked": path})))
    first = serve(lambda path: (307, {"Location": owner + path}, b""))
    with client(first) as admin:
        assert admin.get("a/b?c=true", "asking") == {"asked": "/admin/v2/a/b?c=true"}


def test_a_redirect_to_itself_ends(serve: Serve) -> None:
    url = serve(lambda path: (307, {"Location": path}, b""))
    with client(url, patience_ms=300) as admin, pytest.raises(ConnectionFailed, match="redirect"):
        admin.get("a", "asking")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_requests_with_passing_failures_are_repeated(serve: Serve, status: int) -> None:
    left = iter([status, status])
    url = serve(lambda _: (next(left, 200), {}, as_json({"done": True})))
    with client(url) as admin:
        assert admin.get("a", "asking") == {"done": True}


def test_a_request_about_a_moving_topic_is_repeated(serve: Serve) -> None:
    left = iter([b"Can't find owner for topic persistent://t/n/x"] * 2)

    def answer(_: str) -> Answer:
        reason = next(left, None)
        return (200, {}, b"{}") if reason is None else (412, {}, as_json({"reason": reason.decode()}))

    with client(serve(answer)) as admin:
        assert admin.topics.internal_info(TopicPartition.parse("t/n/x")) == {}


def test_failures_that_stay_end_with_the_patience(serve: Serve) -> None:
    url = serve(lambda _: (500, {}, as_json({"reason": "no ledger\nfor you"})))
    with client(url, patience_ms=300) as admin, pytest.raises(ConnectionFailed) as caught:
        admin.get("a", "reading x")
    assert str(caught.value) == "reading x: the admin REST API answered 500: no ledger\\nfor you"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, PermissionDenied),
        (403, PermissionDenied),
        (404, TopicNotFoundError),
        (400, ProtocolError),
        (412, ProtocolError),
    ],
)
def test_refusals(serve: Serve, status: int, kind: type[PulsarError]) -> None:
    asked: list[str] = []

    def answer(path: str) -> Answer:
        asked.append(path)
        return status, {}, as_json({"reason": "because", "secret": "s3cret"})

    with client(serve(answer)) as admin, pytest.raises(kind, match=r"reading x: .*because") as caught:
        admin.get("a", "reading x")
    assert len(asked) == 1
    assert "s3cret" not in str(caught.value)


def test_invalid_json_is_not_shown(serve: Serve) -> None:
    url = serve(lambda _: (200, {}, b"<html>s3cret"))
    with client(url) as admin, pytest.raises(ProtocolError, match=r"admin.url") as caught:
        admin.get("a", "asking")
    assert "s3cret" not in str(caught.value)


def test_an_empty_answer_is_none_and_no_object(serve: Serve) -> None:
    partition = TopicPartition.parse("t/n/x")
    for status in (200, 204):
        with client(serve(lambda _, status=status: (status, {}, b""))) as admin:
            assert admin.policies.applied(partition.topic, "retention") is None
            with pytest.raises(ProtocolError):
                admin.topics.internal_info(partition)


def test_bookies(serve: Serve) -> None:
    with client(serve(lambda _: (200, {}, as_json({"bookies": [{"bookieId": "b:1"}]})))) as admin:
        assert admin.bookies.ids() == ("b:1",)
    with client(serve(lambda _: (200, {}, as_json({"bookies": [5]})))) as admin, pytest.raises(ProtocolError):
        admin.bookies.ids()


def test_any_of_several_hosts_will_do(serve: Serve) -> None:
    url = serve(lambda _: (200, {}, as_json({"done": True})))
    with client(url.replace("http://", "http://127.0.0.1:1,")) as admin:
        assert admin.get("a", "asking") == {"done": True}


def test_unreachable_and_silent() -> None:
    with (
        client("http://127.0.0.1:1", operation_timeout_ms=200) as admin,
        pytest.raises(
            ConnectionFailed,
            match=r"^asking: the admin REST API cannot be reached at 127\.0\.0\.1:1: Failed to establish",
        ),
    ):
        admin.get("a", "asking")


def test_planning_is_patient_only_with_a_server_that_has_answered(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_pulsar.client.admin.rest._FIRST_SECONDS", 0.2)
    options = ConnectionOptions(service_url="pulsar://x:6650", admin_url="http://127.0.0.1:1")
    began = time.monotonic()
    with (
        AdminClient.for_planning(options) as admin,
        pytest.raises(ConnectionFailed, match=r"cannot be reached at .*; check admin\.url"),
    ):
        admin.get("a", "asking")
    assert time.monotonic() - began < 5
    asked: list[float] = []

    def answer(_: str) -> Answer:
        asked.append(time.monotonic())
        return 503, {}, b"{}"

    options = ConnectionOptions(service_url="pulsar://x:6650", admin_url=serve(answer))
    with AdminClient.for_planning(options, patience_ms=1_000) as admin, pytest.raises(ConnectionFailed):
        admin.get("a", "asking")
    assert asked[-1] - asked[0] > 0.2


def test_a_silent_server_is_given_up(serve: Serve) -> None:
    wait = threading.Event()

    def answer(_: str) -> Answer:
        wait.wait(5)
        return 200, {}, b"{}"

    with client(serve(answer), operation_timeout_ms=200) as admin, pytest.raises(DeadlineExceeded):
        admin.get("a", "asking")
    wait.set()


def test_without_a_url() -> None:
    with pytest.raises(OptionError, match=r"admin\.url"):
        AdminClient(ConnectionOptions(service_url="pulsar://x:6650"))


def test_work_of_its_own_threads_ends_with_the_client(serve: Serve) -> None:
    """The client runs at most `threads` requests at the same time. Closing the client cancels requests that have not
    started.
    """
    begun: list[str] = []
    goes_on = threading.Event()

    def answer(path: str) -> Answer:
        begun.append(path)
        goes_on.wait(5)
        return 200, {}, b"{}"

    admin = AdminClient(ConnectionOptions(service_url="pulsar://x:1", admin_url=serve(answer)), threads=2)
    asked = [admin.begin(admin.get, f"persistent/t/n/x{number}", "reading") for number in range(6)]
    while len(begun) < 2:
        time.sleep(0.01)
    admin.close()
    goes_on.set()
    assert [each.result(5) for each in asked[:2]] == [{}, {}]
    assert all(each.cancelled() for each in asked[2:])
    assert len(begun) == 2
    assert list(admin.map(len, ["a", "bc"])) == [1, 2], "as its connections, they come again"
    admin.close()
