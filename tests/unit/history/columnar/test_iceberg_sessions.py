"""A REST catalog of Iceberg that stops answering fails its callers, and no caller waits forever."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from pyiceberg.catalog import rest
from requests import Session

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.iceberg import sessions
from pyspark_pulsar.history.columnar.iceberg.catalog import IcebergCatalog

CONFIG = json.dumps({"defaults": {}, "overrides": {}}).encode()


@pytest.fixture
def silent(answers: int) -> Iterator[str]:
    """The address of a catalog that answers some requests, and is silent from then on."""
    kept: list[socket.socket] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            left = answers
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                if left:
                    left -= 1
                    connection.recv(1 << 16)
                    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                    connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(CONFIG) + CONFIG)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
    for connection in kept:
        connection.close()


@pytest.mark.parametrize(
    ("answers", "secret"), [(0, {"token": "any"}), (0, {"credential": "id:hush"}), (1, {"token": "any"})]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_silent_catalog(silent: str, secret: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ANSWER_SECONDS", 0.5)
    with pytest.raises(
        ColumnsUnavailable, match="expected to reach the catalog and the files, got ReadTimeout"
    ):
        IcebergCatalog.open("c", {"type": "rest", "uri": silent, **secret}).load("n.t")
    assert rest.Session is Session
