"""The deadline of connecting, whatever hangs; an attempt does not delay callers that need another broker."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import open_connection
from pyspark_pulsar.client.broker.connection.transport import open_transport
from pyspark_pulsar.client.security import oauth2
from pyspark_pulsar.client.security.context import Security, security_of
from pyspark_pulsar.client.security.tls import Tls
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.errors import ConnectionFailed, DeadlineExceeded, OptionError
from pyspark_pulsar.options import ConnectionOptions, parse_options

SECONDS = 1.0


@pytest.fixture
def black_hole() -> Iterator[BrokerAddress]:
    """A listener whose connections the operating system accepts, and which never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield BrokerAddress("127.0.0.1", listener.getsockname()[1])


@contextlib.contextmanager
def dripping(beginning: bytes) -> Iterator[BrokerAddress]:
    """A server that sends a byte every tenth of a second without end; the `beginning` announces a long
    answer.
    """

    def trickle(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.sendall(beginning)
            while True:
                connection.sendall(b"\x00")
                time.sleep(0.1)

    def accept(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            trickle(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield BrokerAddress("127.0.0.1", listener.getsockname()[1])


def options(address: BrokerAddress, **more: str) -> ConnectionOptions:
    given = {
        "service.url": f"pulsar://{address}",
        "admin.url": f"http://{address}",
        "pulsar.client.connectionTimeoutMs": str(int(SECONDS * 1000)),
        "pulsar.client.operationTimeoutMs": str(int(SECONDS * 1000)),
    }
    return parse_options(ConnectionOptions, given | more)


@pytest.mark.parametrize("tls", [None, Tls(insecure=True)])
def test_an_attempt_ends_in_time_however_the_server_answers(
    black_hole: BrokerAddress, tls: Tls | None
) -> None:
    beginning = b"\x00\x10\x00\x00" if tls is None else b"\x16\x03\x03\x40\x00"
    with dripping(beginning) as dripped:
        for address in (black_hole, dripped):
            began = time.monotonic()
            with pytest.raises(ConnectionFailed, match=r"timed out|did not end in time"):
                open_connection(address, SECONDS, Security(tls=tls))
            assert time.monotonic() - began < 2 * SECONDS + 1


def test_threads_share_one_attempt(black_hole: BrokerAddress) -> None:
    """Callers that need the same silent broker do not wait for each other's attempts."""
    client = BrokerClient(options(black_hole), patience_ms=1)
    began = time.monotonic()

    def attempt(_: int) -> bool:
        with pytest.raises(ConnectionFailed):
            client.service_connection()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(attempt, range(8)))
    assert time.monotonic() - began < 2 * SECONDS + 1


def test_a_client_that_is_closed_keeps_no_connection_that_was_opened_meanwhile(
    black_hole: BrokerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, closed = threading.Event(), threading.Event()
    ended: list[bool] = []

    class Opened:
        is_open = True

        def close(self) -> None:
            ended.append(True)

    def open_slowly(*_: object) -> Opened:
        opening.set()
        assert closed.wait(30)
        return Opened()

    monkeypatch.setattr("pyspark_pulsar.client.broker.broker_connections.open_connection", open_slowly)
    client = BrokerClient(options(black_hole))
    with ThreadPoolExecutor(1) as pool:
        connecting = pool.submit(client.service_connection)
        assert opening.wait(30)
        client.close()
        closed.set()
        with pytest.raises(ConnectionFailed, match="the client was closed before the connection was open"):
            connecting.result(30)
    assert ended == [True]
    assert not client.has_open_ends


def test_connections_that_have_ended_are_forgotten(
    black_hole: BrokerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubernetes assigns a broker another address at each start."""

    class Ended:
        is_open = False

    monkeypatch.setattr("pyspark_pulsar.client.broker.broker_connections.open_connection", lambda *_: Ended())
    client = BrokerClient(options(black_hole))
    for number in range(1000):
        client._connections.connection(BrokerAddress(f"10.0.0.{number}", 6650))
    assert len(client._connections._open) == 1
    assert client._connections._opening == {}


def test_owners_of_topics_that_came_and_went_are_forgotten(
    black_hole: BrokerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Open:
        is_open = True

    monkeypatch.setattr("pyspark_pulsar.client.broker.broker_connections.open_connection", lambda *_: Open())
    client = BrokerClient(options(black_hole))
    for number in range(250_000):
        client._owners._owners[f"persistent://public/default/t{number}"] = black_hole
        if number % 10_000 == 0:
            client.owner_connection(f"persistent://public/default/t{number}")
            assert len(client._owners._owners) <= 110_001
    # No connection of those requested at the same time is missing, whatever their number.
    names = [f"persistent://public/default/t{number}" for number in range(150_000, 250_000)]
    assert len(client.owner_connections(names)) == 100_000


def test_the_operating_system_checks_whether_the_host_exists(black_hole: BrokerAddress) -> None:
    transport = open_transport(black_hole, SECONDS, Security(), None)
    stream = transport._stream
    assert isinstance(stream, socket.socket)
    assert stream.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    if hasattr(socket, "TCP_KEEPIDLE"):
        kept = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT]
        assert [stream.getsockopt(socket.IPPROTO_TCP, option) for option in kept] == [10, 5, 3]
    transport.close()


def test_an_answer_of_the_admin_rest_api_that_never_ends() -> None:
    beginning = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    with dripping(beginning) as address, AdminClient(options(address)) as admin:
        began = time.monotonic()
        with pytest.raises(
            DeadlineExceeded, match="expected the whole answer of the admin REST API within 1 s"
        ):
            admin.brokers.version()
        assert time.monotonic() - began < 2 * SECONDS + 1


# Credentials


def test_a_token_file_that_is_a_pipe_is_refused(black_hole: BrokerAddress, tmp_path: Path) -> None:
    pipe = tmp_path / "token"
    os.mkfifo(pipe)
    given = options(
        black_hole,
        **{"pulsar.client.authPluginClassName": "token", "pulsar.client.authParams": f"file://{pipe}"},
    )
    began = time.monotonic()
    with pytest.raises(OptionError, match=r"expected a readable file .*no regular file"):
        open_connection(black_hole, SECONDS, security_of(given))
    with AdminClient(given) as admin, pytest.raises(OptionError, match="no regular file"):
        admin.brokers.version()
    assert time.monotonic() - began < SECONDS


def test_certificates_in_a_pipe_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "ca.pem"
    os.mkfifo(pipe)
    for tls in (Tls(str(pipe)), Tls(own=(str(pipe), str(pipe)))):
        with pytest.raises(OptionError, match="no regular file"):
            tls.context()


def test_an_identity_provider_that_does_not_answer(black_hole: BrokerAddress) -> None:
    """A single thread waits for the answer, whatever the number of attempts, and each attempt ends in time."""
    params = (
        f'{{"issuerUrl": "http://{black_hole}", "privateKey": "data:application/json,'
        '{%22client_id%22:%22a%22,%22client_secret%22:%22b%22}"}'
    )
    given = options(
        black_hole,
        **{"pulsar.client.authPluginClassName": "oauth2", "pulsar.client.authParams": params},
    )
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"reading the credentials of pulsar\.client\.authParams"):
            open_connection(black_hole, SECONDS, security_of(given))
        assert time.monotonic() - began < 2 * SECONDS
    assert [thread.name for thread in threading.enumerate()].count("pulsar-token") == 1
    assert len(oauth2._cached_tokens) <= 64
