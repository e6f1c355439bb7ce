"""TLS between two sockets of this process: the bytes survive, and each fault has its own error."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.certificates import Authority
from fixtures.sni_proxy import server_name

from pyspark_pulsar.client.broker.connection.transport import Transport, open_transport
from pyspark_pulsar.client.security.context import Security
from pyspark_pulsar.client.security.tls import Tls
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.errors import ConnectionFailed, OptionError, TlsFailed

Serve = Callable[..., int]
Talk = Callable[[socket.socket], None]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server_context(authority: Authority) -> ssl.SSLContext:
    own = authority.server("server", ("127.0.0.1",), ("broker.test",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    context.load_verify_locations(authority.trust)
    return context


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(talk, context)`: the port of a server that calls `talk` with each connection, over TLS with `context`."""
    servers: list[socket.socket] = []

    def start(talk: Talk, context: ssl.SSLContext | None = None) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def accept() -> None:
            while True:
                try:
                    stream, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(stream,), daemon=True).start()

        def handle(stream: socket.socket) -> None:
            with stream, contextlib.suppress(OSError):
                if context is None:
                    talk(stream)
                else:
                    with context.wrap_socket(stream, server_side=True) as secured:
                        talk(secured)

        threading.Thread(target=accept, daemon=True).start()
        return int(server.getsockname()[1])

    yield start
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def echo(stream: socket.socket) -> None:
    while data := stream.recv(64 * 1024):
        stream.sendall(data)


def connect(port: int, tls: Tls, host: str = "127.0.0.1", **more: BrokerAddress) -> Transport:
    return open_transport(BrokerAddress(host, port), 5.0, Security(tls=tls, **more), tls.context())


def receive(transport: Transport, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        more = transport.receive()
        assert more
        data += more
    return bytes(data)


def test_megabytes_both_ways_at_once(
    serve: Serve, authority: Authority, server_context: ssl.SSLContext
) -> None:
    transport = connect(serve(echo, server_context), Tls(authority.trust))
    parts = [os.urandom(size) for size in (1, 100, 16_384, 16_385, 1_000_000, 3_000_000)]

    def send() -> None:
        for part in parts:
            transport.send(part)

    sender = threading.Thread(target=send)
    sender.start()
    wanted = b"".join(parts)
    assert receive(transport, len(wanted)) == wanted
    sender.join()
    transport.close()


def test_several_senders_do_not_mix(
    serve: Serve, authority: Authority, server_context: ssl.SSLContext
) -> None:
    transport = connect(serve(echo, server_context), Tls(authority.trust))
    parts = [bytes([number]) * 50_000 for number in range(8)]
    senders = [threading.Thread(target=transport.send, args=(part,)) for part in parts]
    for sender in senders:
        sender.start()
    data = receive(transport, 400_000)
    assert sorted(data[at : at + 50_000] for at in range(0, 400_000, 50_000)) == parts
    transport.close()


def test_silence_is_a_timeout_and_an_end_an_end(
    serve: Serve, authority: Authority, server_context: ssl.SSLContext
) -> None:
    go = threading.Event()

    def talk(stream: socket.socket) -> None:
        go.wait(10)
        stream.sendall(b"bye")

    transport = connect(serve(talk, server_context), Tls(authority.trust))
    transport.wait_at_most(0.1)
    with pytest.raises(TimeoutError):
        transport.receive()
    transport.wait_at_most(5)
    go.set()
    assert transport.receive() == b"bye"
    assert transport.receive() == b""
    assert transport.receive() == b""


def test_closing_wakes_the_receiver(
    serve: Serve, authority: Authority, server_context: ssl.SSLContext
) -> None:
    transport = connect(serve(echo, server_context), Tls(authority.trust))
    woken = threading.Event()

    def wait() -> None:
        with contextlib.suppress(OSError):
            transport.receive()
        woken.set()

    threading.Thread(target=wait, daemon=True).start()
    transport.close()
    assert woken.wait(5)


def test_an_unknown_authority(serve: Serve, server_context: ssl.SSLContext, tmp_path: Path) -> None:
    port = serve(echo, server_context)
    for tls in (Tls(Authority(tmp_path).trust), Tls()):
        with pytest.raises(TlsFailed, match=r"not trusted: .*; add the authority .*tlsTrustCertsFilePath"):
            connect(port, tls)
    transport = connect(port, Tls(insecure=True))
    transport.send(b"all the same")
    assert receive(transport, 12) == b"all the same"


def test_another_host_name(serve: Serve, authority: Authority, server_context: ssl.SSLContext) -> None:
    port = serve(echo, server_context)
    with pytest.raises(TlsFailed, match=r"mismatch.*localhost.*tlsHostnameVerificationEnable"):
        connect(port, Tls(authority.trust), "localhost")
    connect(port, Tls(authority.trust, verify_hostname=False), "localhost").close()


def test_through_a_proxy_the_certificate_is_that_of_the_broker(
    serve: Serve, authority: Authority, server_context: ssl.SSLContext
) -> None:
    proxy = BrokerAddress("127.0.0.1", serve(echo, server_context))
    connect(6651, Tls(authority.trust), "broker.test", proxy=proxy).close()
    with pytest.raises(TlsFailed, match=r"other\.test"):
        connect(6651, Tls(authority.trust), "other.test", proxy=proxy)


def test_the_name_in_a_hello() -> None:
    received, made = ssl.MemoryBIO(), ssl.MemoryBIO()
    stream = ssl.create_default_context().wrap_bio(received, made, server_hostname="broker.test")
    with pytest.raises(ssl.SSLWantReadError):
        stream.do_handshake()
    assert server_name(made.read()) == "broker.test"


def test_a_server_that_speaks_no_tls(serve: Serve, authority: Authority) -> None:
    def talk(stream: socket.socket) -> None:
        stream.recv(1000)
        stream.sendall(b"\x00\x00\x00\x10HTTP/1.1 400 Bad Request\r\n\r\n")

    with pytest.raises(TlsFailed, match="expected TLS, got something else"):
        connect(serve(talk), Tls(authority.trust))


def test_a_server_that_closes_at_once_may_be_passing(serve: Serve, authority: Authority) -> None:
    with pytest.raises(ConnectionFailed):
        connect(serve(lambda stream: None), Tls(authority.trust))


def test_a_server_that_wants_a_certificate(serve: Serve, authority: Authority, tmp_path: Path) -> None:
    own = authority.server("strict", ("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    context.load_verify_locations(authority.trust)
    context.verify_mode = ssl.CERT_REQUIRED
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context.minimum_version = context.maximum_version = version
        port = serve(echo, context)
        shown = authority.client("worker")
        transport = connect(port, Tls(authority.trust, (shown.certificate, shown.key)))
        transport.send(b"hello")
        assert receive(transport, 5) == b"hello"
        with pytest.raises((TlsFailed, ssl.SSLError), match=r"(?i)certificate"):
            connect(port, Tls(authority.trust)).receive()


def test_files_are_read_again_when_they_change(authority: Authority, tmp_path: Path) -> None:
    first, second = authority.client("first"), authority.client("second")
    paths = tmp_path / "own.pem", tmp_path / "own-key.pem"

    def put(number: int, certificate: str, key: str) -> None:
        for path, source in zip(paths, (certificate, key), strict=True):
            path.write_bytes(Path(source).read_bytes())
            os.utime(path, (number, number))

    put(1, first.certificate, first.key)
    tls = Tls(authority.trust, (str(paths[0]), str(paths[1])))
    context = tls.context()
    assert tls.context() is context
    put(2, second.certificate, second.key)
    assert tls.context() is not context


def test_files_that_are_no_certificates(authority: Authority, tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("sesame")
    own = authority.client("worker")
    for tls, wanted in (
        (Tls(str(tmp_path / "nowhere")), "nowhere contains no usable certificates: No such file"),
        (Tls(str(junk)), r"junk.pem contains no usable certificates"),
        (
            Tls(None, (own.certificate, str(junk))),
            r"private key .*junk.pem cannot be used: .*with an unencrypted key",
        ),
        (Tls(None, (str(tmp_path / "nowhere"), own.key)), "the certificate .*nowhere and"),
    ):
        with pytest.raises(OptionError, match=wanted):
            tls.context()


def test_an_encrypted_key_does_not_prompt_for_a_password(authority: Authority, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    own = authority.client("worker")
    key = serialization.load_pem_private_key(Path(own.key).read_bytes(), None)
    locked = tmp_path / "locked.pem"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"sesame"),
        )
    )
    with pytest.raises(OptionError, match="unencrypted key"):
        Tls(None, (own.certificate, str(locked))).context()
