"""Tests that only trusted servers receive the credentials for the admin REST API. The test servers are not Pulsar."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fixtures.certificates import Authority, Certificate

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied, ProtocolError
from pyspark_pulsar.options import ConnectionOptions, parse_options

Answer = Callable[[], tuple[int, dict[str, str]]]
Serve = Callable[..., tuple[str, list[str | None]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server, and returns its URL and a list.

    The list contains the header Authorization of each request that the server receives.
    """
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Answer, certificate: Certificate | None = None) -> tuple[str, list[str | None]]:
        heard: list[str | None] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                heard.append(self.headers.get("Authorization"))
                status, headers = answer()
                self.send_response(status)
                for name, value in (headers | {"Content-Length": "2"}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *arguments: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}", heard

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def client(url: str, **more: str) -> AdminClient:
    given = {
        "service.url": "pulsar://localhost:1",
        "admin.url": url,
        "pulsar.client.authPluginClassName": "token",
        "pulsar.client.authParams": "token:sesame",
    }
    return AdminClient(parse_options(ConnectionOptions, given | more))


def test_another_broker_gets_the_credentials_as_well(serve: Serve) -> None:
    owner, heard_by_owner = serve(lambda: (200, {}))
    first, heard_by_first = serve(lambda: (307, {"Location": f"{owner}/there"}))
    with client(first) as admin:
        assert admin.get("a", "asking") == {}
    assert heard_by_first == heard_by_owner == ["Bearer sesame"]


def test_a_redirect_from_tls_to_plain_http_gets_no_credentials(serve: Serve, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    plain, heard = serve(lambda: (200, {}))
    secured, _ = serve(
        lambda: (307, {"Location": f"{plain}/there"}), authority.server("server", ("127.0.0.1",))
    )
    trust = {"pulsar.client.tlsTrustCertsFilePath": authority.trust}
    with client(secured, **trust) as admin, pytest.raises(ProtocolError, match="got a redirect to another"):
        admin.get("a", "asking")
    assert heard == []


def test_from_plain_to_tls(serve: Serve, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    secured, heard = serve(lambda: (200, {}), authority.server("server", ("127.0.0.1",)))
    plain, _ = serve(lambda: (307, {"Location": f"{secured}/there"}))
    with client(plain, **{"pulsar.client.tlsTrustCertsFilePath": authority.trust}) as admin:
        assert [admin.get("a", "asking") for _ in range(2)] == [{}, {}]
    assert heard == ["Bearer sesame"] * 2


def test_a_refusal_names_the_options_and_no_secret(serve: Serve) -> None:
    url, _ = serve(lambda: (401, {}))
    with client(url) as admin, pytest.raises(PermissionDenied, match=r"check pulsar\.client\.auth") as caught:
        admin.get("a", "asking")
    assert "sesame" not in str(caught.value)


def test_files_that_change_count_for_the_next_request(serve: Serve, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    url, heard = serve(lambda: (200, {}), authority.server("server", ("127.0.0.1",)))
    file = tmp_path / "token"
    given = {
        "pulsar.client.tlsTrustCertsFilePath": authority.trust,
        "pulsar.client.authParams": f"file://{file}",
    }
    with client(url, **given) as admin:
        for token in ("first", "second"):
            file.write_text(token)
            assert json.dumps(admin.get("a", "asking")) == "{}"
    assert heard == ["Bearer first", "Bearer second"]
