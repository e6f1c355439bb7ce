"""Tests of TLS and authentication with a bookie, in memory. Tests in tests/integration/cluster use a real bookie."""

from __future__ import annotations

import random
import ssl
import struct
from pathlib import Path

import pytest
from fixtures.certificates import Authority

from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.channel import PLAIN, BookieChannel, BookieSecurity
from pyspark_pulsar.client.security.tls import Tls
from pyspark_pulsar.client.wire import bookkeeper_pb2 as wire
from pyspark_pulsar.errors import PermissionDenied, ProtocolError, PulsarError, TlsFailed

ADDRESS = BookieAddress("127.0.0.1", 3181)
REQUEST = struct.pack(">IBBHqq", 20, 2, 2, 0, 5, 0)
ANSWERS = struct.pack(">IBBHiqq", 24, 2, 2, 0, 1, 5, 0) * 3


def answer(status: int, operation: wire.OperationType = wire.START_TLS) -> bytes:
    header = wire.BKPacketHeader(version=wire.VERSION_THREE, operation=operation, txnId=1)
    body = wire.Response(header=header, status=status).SerializeToString()
    return struct.pack(">I", len(body)) + body


class Side:
    """The bookie's side of a TLS connection."""

    def __init__(self, certificate: str, key: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._shaken = False
        self.received = b""

    def take(self, records: bytes, *, says: bytes = b"") -> bytes:
        """Return the bytes to send back. After the handshake, the first of these bytes are `says`."""
        self._in.write(records)
        try:
            if not self._shaken:
                self._tls.do_handshake()
                self._shaken = True
                if says:
                    self._tls.write(says)
            while True:
                self.received += self._tls.read(65536)
        except ssl.SSLWantReadError:
            return self._out.read()

    def say(self, data: bytes) -> bytes:
        self._tls.write(data)
        return self._out.read()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def side(authority: Authority, *, expired: bool = False) -> Side:
    own = authority.server("bookie", ("127.0.0.1",), expired=expired)
    return Side(own.certificate, own.key)


def feed(channel: BookieChannel, data: bytes, seed: int) -> tuple[bytes, bytes]:
    """Pass the data to the channel in random pieces. Return the answers and the outgoing bytes."""
    ranges, answers, outgoing = random.Random(seed), b"", b""
    while data:
        size = ranges.choice((1, 2, 3, 100, 10_000))
        came, out = channel.receive(data[:size])
        answers, outgoing, data = answers + came, outgoing + out, data[size:]
    return answers, outgoing


def talk(channel: BookieChannel, other: Side, out: bytes, says: bytes = b"") -> None:
    """Run the messages of a handshake in both directions, five times, which is enough for any handshake."""
    for _ in range(5):
        _, out = channel.receive(other.take(out, says=says))


def test_plain_bytes_pass_as_they_are() -> None:
    channel = BookieChannel(PLAIN, ADDRESS)
    assert channel.send(REQUEST) == b""
    assert channel.begin() == REQUEST
    assert channel.send(REQUEST) == REQUEST
    assert channel.receive(ANSWERS) == (ANSWERS, b"")


@pytest.mark.parametrize("seed", range(5))
def test_only_start_tls_is_sent_in_plain_text(authority: Authority, seed: int) -> None:
    channel, other = BookieChannel(BookieSecurity(Tls(authority.trust)), ADDRESS), side(authority)
    assert channel.send(REQUEST) == b""
    first = channel.begin()
    asked = wire.Request.FromString(first[4:])
    assert (asked.header.operation, len(first)) == (wire.START_TLS, 4 + first[3])
    assert channel.send(REQUEST) == b""
    _, out = feed(channel, answer(0), seed)
    for _ in range(5):
        if other.received:
            break
        _, out = feed(channel, other.take(out), seed)
    assert REQUEST not in out
    assert other.received == REQUEST * 2
    assert feed(channel, other.say(ANSWERS), seed)[0] == ANSWERS, f"seed {seed}"


@pytest.mark.parametrize(
    ("came", "kind", "words"),
    [
        (answer(404), TlsFailed, "TLS is not configured there"),
        (answer(0, wire.AUTH), TlsFailed, "expected TLS"),
        (b"HTTP/1.1 400 Bad Request", ProtocolError, "check the bookie's address"),
        (struct.pack(">I", 4) + b"\xff" * 4, ProtocolError, "check the bookie's address"),
        (answer(0) + b"HTTP/1.1 200 OK\r\n", TlsFailed, "got something else"),
    ],
)
def test_an_answer_without_tls_is_reported(
    authority: Authority, came: bytes, kind: type[PulsarError], words: str
) -> None:
    channel = BookieChannel(BookieSecurity(Tls(authority.trust)), ADDRESS)
    channel.send(REQUEST)
    channel.begin()
    with pytest.raises(kind, match=words):
        channel.receive(came)


def test_a_bookie_that_refuses_after_the_handshake(authority: Authority) -> None:
    channel, other = BookieChannel(BookieSecurity(Tls(authority.trust)), ADDRESS), side(authority)
    channel.begin()
    _, out = channel.receive(answer(0))
    with pytest.raises(PermissionDenied, match=r"status 501.*authorizedRoles"):
        talk(channel, other, out, says=answer(501))


def test_an_expired_certificate(authority: Authority) -> None:
    channel, other = (
        BookieChannel(BookieSecurity(Tls(authority.trust)), ADDRESS),
        side(authority, expired=True),
    )
    channel.begin()
    _, out = channel.receive(answer(0))
    with pytest.raises(TlsFailed, match="expired; have the certificate renewed"):
        talk(channel, other, out)
