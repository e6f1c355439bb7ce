"""Tests of failed attempts to connect, over real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.connections import Arrival, BookieConnections, ConnectionLost

BOOKIE = "a:3181"
NO_FAMILY = 99


def events_of(host: str = "a", seconds: float = 30.0) -> list[Arrival | ConnectionLost]:
    """Return the events after one request."""
    with BookieConnections({BOOKIE: BookieAddress(host, 3181)}, seconds) as connections:
        connections.send(BOOKIE, b"?")
        for _ in range(300):
            events = connections.wait({BOOKIE}, 0.2)
            if events:
                return events
    return []


Resolve = Callable[..., None]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """A function that sets the addresses of the host, in the order of the attempts to connect."""

    def patch(*addresses: tuple[int, Any]) -> None:
        found = [(family, socket.SOCK_STREAM, 0, "", address) for family, address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: list(found))

    return patch


@pytest.fixture
def answering() -> Iterator[tuple[int, Any]]:
    """The address of a server that answers every connection with one byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"!")

        threading.Thread(target=serve, daemon=True).start()
        yield socket.AF_INET, server.getsockname()


@pytest.fixture
def silent() -> Iterator[tuple[int, Any]]:
    """The address of a socket with a full backlog: the operating system neither accepts nor refuses a connection."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield socket.AF_INET, server.getsockname()


def test_an_address_of_a_family_that_the_machine_lacks(resolve: Resolve, answering: tuple[int, Any]) -> None:
    resolve((NO_FAMILY, None), answering)
    assert [event.data for event in events_of() if isinstance(event, Arrival)] == [b"!"]


def test_no_address_works(resolve: Resolve) -> None:
    resolve((NO_FAMILY, None))
    (lost,) = events_of()
    assert isinstance(lost, ConnectionLost)
    assert "cannot be reached at a:3181" in lost.reason
    assert not lost.hung_up


def test_each_address_has_its_time(
    resolve: Resolve, silent: tuple[int, Any], answering: tuple[int, Any]
) -> None:
    resolve(silent, answering)
    assert [event.data for event in events_of(seconds=3.0) if isinstance(event, Arrival)] == [b"!"]
    resolve(silent)
    (lost,) = events_of(seconds=3.0)
    assert isinstance(lost, ConnectionLost)
    assert "no connection within 3 s" in lost.reason


def test_a_host_that_cannot_be_one() -> None:
    (lost,) = events_of("a..b")
    assert isinstance(lost, ConnectionLost)
    assert "a..b:3181" in lost.reason
