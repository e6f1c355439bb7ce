"""The protocol of one connection to a bookie, without a socket: the caller passes input bytes and sends output bytes.

If the options enable TLS, a connection begins with TLS. If the options contain a password, authentication is next. An
open connection carries requests for entries and their answers.

    state          | input                                    | output                              | next state
    (new)          | connected (`begin`), with TLS            | START_TLS, version 3                | TLS_REQUESTED
                   | connected, without TLS, with a password  | AUTH, empty                         | AUTHENTICATION
                   | connected, with neither                  | requests that waited                | OPEN
    TLS_REQUESTED  | the answer, status OK                    | the first record of TLS             | HANDSHAKE
                   | another answer                           |                                     | `TlsFailed`
    HANDSHAKE      | records                                  | records                             | HANDSHAKE
                   | the last record, with a password         | AUTH, empty                         | AUTHENTICATION
                   | the last record, without a password      | requests that waited                | OPEN
                   | a certificate that is not trusted        |                                     | `TlsFailed`
    AUTHENTICATION | AUTH with a challenge                    | AUTH with the client's proof, and   | AUTHENTICATION
                   |                                          | READ_ENTRY of an impossible ledger  |
                   | AUTH with the bookie's proof             |                                     | AUTHENTICATION
                   | AUTH of AuthDisabledPlugin               | requests that waited                | OPEN
                   | an answer to READ_ENTRY, after the proof | requests that waited                | OPEN
                   | READ_ENTRY refused, or no proof before   |                                     | `PermissionDenied`
                   | the end of the connection                |                                     | `PermissionDenied`
                   | a frame of version 3                     |                                     | AUTHENTICATION
    OPEN           | frames of version 2, for the caller      | requests, immediately               | OPEN
                   | after TLS, first a frame of version 3    |                                     | `PermissionDenied`

TLS is negotiated on the plain port: a START_TLS request of the protocol's version 3, its answer, then the handshake.
After the handshake, requests and their answers have version 2, like all messages without TLS. Source:
`PerChannelBookieClient`, `AuthHandler` and `BookieRequestProcessor` of BookKeeper 4.17.

A bookie with an authentication provider can require more than TLS from its clients. After the handshake, a bookie with
this requirement sends an unsolicited answer of version 3 to START_TLS, and leaves the connection open. To a client
without a password, this answer is a refusal. A client with a password ignores this answer, because the client
authenticates next.

Authentication is SASL with DIGEST-MD5, in AUTH messages of version 2. A bookie does not answer a wrong proof. Therefore
the client requests an entry immediately after the proof. If the proof was wrong, the bookie refuses the entry.
"""

from __future__ import annotations

import enum
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from pyspark_pulsar.client.bookkeeper.connection import response_status
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.digest_md5 import DigestMd5
from pyspark_pulsar.client.security.tls import OptionNames, Tls, certificate_fault
from pyspark_pulsar.client.wire import bookkeeper_pb2 as wire
from pyspark_pulsar.errors import PermissionDenied, ProtocolError, TlsFailed

TLS_OPTIONS: Final = OptionNames(
    trust="bookkeeperTLSTrustCertsFilePath",
    certificate="bookkeeperTLSCertificateFilePath and bookkeeperTLSKeyFilePath",
    hostname="bookkeeper_tlsHostnameVerificationEnabled",
)
_EOK: Final = 0
# The first byte of an answer of version 2. The first byte of an answer of version 3 is a protobuf tag.
_VERSION_2: Final = 2
_READ_ENTRY, _AUTH = 2, 3
_SASL: Final = "sasl"
_NO_AUTHENTICATION: Final = "AuthDisabledPlugin"
# A request for entry 0 of a ledger id that cannot exist.
_PROBE_REQUEST: Final = struct.pack(">IBBHqq", 20, _VERSION_2, _READ_ENTRY, 0, (1 << 63) - 1, 0)
_LONGEST_ANSWER: Final = 64 * 1024
_READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BookieSecurity:
    """TLS and authentication settings for connections to bookies."""

    tls: Tls | None = None
    """TLS settings. None means plain text."""
    login: Callable[[], tuple[str, str]] | None = None
    """A function that reads the user and the password for each new connection. None disables authentication."""


PLAIN: Final = BookieSecurity()


class _State(enum.Enum):
    TLS_REQUESTED = enum.auto()
    HANDSHAKE = enum.auto()
    AUTHENTICATION = enum.auto()
    OPEN = enum.auto()


class BookieChannel:
    """The state of one connection to a bookie. The channel stores requests until the connection is open.

    The methods raise `TlsFailed`, `PermissionDenied` or `ProtocolError`. After an error the connection is unusable.
    """

    def __init__(self, security: BookieSecurity, address: BookieAddress) -> None:
        """Prepare a connection, without a request. Raise `OptionError` if the certificate files are unusable."""
        self._security = security
        self._where = f"bookie {address}"
        self._host = address.host
        self._context = security.tls.context() if security.tls is not None else None
        self._state: _State | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._waiting = bytearray()
        self._answers = bytearray()
        self._login = DigestMd5(*security.login()) if security.login is not None else None
        self._has_proven = False
        self._speaks_version_2 = security.tls is None

    @property
    def is_open(self) -> bool:
        """Return whether `send` returns requests immediately, because TLS and authentication are complete."""
        return self._state is _State.OPEN

    def _authenticates(self) -> bool:
        return self._state is _State.AUTHENTICATION

    @property
    def phase(self) -> str:
        """Return the phase as words for errors, with a space at the end. An open connection has an empty string."""
        if self._authenticates():
            return "during authentication "
        return "" if self.is_open else "during the TLS handshake "

    def closing_fault(self) -> PermissionDenied | None:
        """Return the error to raise if the bookie closes the connection now, or None if a retry can succeed."""
        if not self._authenticates():
            return None
        return PermissionDenied(
            f"{self._where}: the bookie closed the connection after it received a password, perhaps because the bookie "
            f"requires another kind of authentication, such as a certificate; check bookieAuthProviderFactoryClass in "
            f"the bookie's bookkeeper.conf"
        )

    def begin(self) -> bytes:
        """Return the first bytes to send after the socket has connected."""
        if self._context is None:
            return self._authenticate()
        self._state = _State.TLS_REQUESTED
        header = wire.BKPacketHeader(version=wire.VERSION_THREE, operation=wire.START_TLS, txnId=1)
        return _frame(wire.Request(header=header, startTLSRequest=wire.StartTLSRequest()).SerializeToString())

    def send(self, requests: bytes) -> bytes:
        """Return the bytes to send now. Until the connection is open, store the requests and return no bytes."""
        if not self.is_open:
            self._waiting += requests
            return b""
        return self._encode(requests)

    def receive(self, data: bytes) -> tuple[bytes, bytes]:
        """Process received bytes.

        Returns:
            A tuple. The first value is the received bytes of version 2, which can begin and end anywhere in an answer.
            The second value is the bytes to send to the bookie.

        """
        if self._state is _State.TLS_REQUESTED:
            self._answers += data
            answer = self._take_answer()
            if answer is None:
                return b"", b""
            self._start_tls(answer)
            data = bytes(self._answers)
            self._answers.clear()
        outgoing = b""
        if self._context is not None:
            try:
                data, outgoing = self._decode(data)
            except ssl.SSLError as fault:
                raise certificate_fault(self._where, fault, TLS_OPTIONS) from None
        if not self._authenticates():
            return self._check_version(data), outgoing
        self._answers += data
        while self._authenticates() and (body := self._take_body()) is not None:
            outgoing += self._take_step(body)
        if self._authenticates():
            return b"", outgoing
        answers = bytes(self._answers)
        self._answers.clear()
        self._speaks_version_2 = True
        return answers, outgoing

    def _start_tls(self, answer: wire.Response) -> None:
        if answer.header.operation != wire.START_TLS or answer.status != _EOK or self._context is None:
            raise TlsFailed(
                f"{self._where}: expected TLS, got status {answer.status}, because TLS is not configured there; set "
                f"tlsProviderFactoryClass in the bookie's bookkeeper.conf, read from another location "
                f"(readFrom=broker or tiered), or allow plain text (bookieTls=false)"
            )
        self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_hostname=self._host)
        self._state = _State.HANDSHAKE

    def _decode(self, records: bytes) -> tuple[bytes, bytes]:
        assert self._tls is not None  # noqa: S101 -- the states ensure it
        self._incoming.write(records)
        outgoing = b""
        if self._state is _State.HANDSHAKE:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                return b"", self._outgoing.read()
            outgoing = self._outgoing.read() + self._authenticate()
        plain = bytearray()
        try:
            while part := self._tls.read(_READ_BYTES):
                plain += part
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
            pass
        return bytes(plain), outgoing + self._outgoing.read()

    def _check_version(self, plain: bytes) -> bytes:
        """Return the bytes. If the first frame after the handshake is a refusal, raise `PermissionDenied`."""
        if self._speaks_version_2:
            return plain
        self._answers += plain
        if len(self._answers) <= struct.calcsize(">I"):
            return b""
        if self._answers[4] != _VERSION_2:
            answer = self._take_answer()
            if answer is None:
                return b""
            raise PermissionDenied(
                f"{self._where}: after the TLS handshake, the bookie refused this client with status {answer.status}; "
                f"set the credentials that bookieAuthProviderFactoryClass in bookkeeper.conf requires: a certificate "
                f"with one of the authorizedRoles in its OU ({TLS_OPTIONS.certificate}), or a password "
                f"(bookkeeperClientAuthenticationPlugin)"
            )
        self._speaks_version_2 = True
        plain = bytes(self._answers)
        self._answers.clear()
        return plain

    def _authenticate(self) -> bytes:
        if self._login is None:
            return self._open()
        self._state = _State.AUTHENTICATION
        return self._encode(_auth(b""))

    def _take_step(self, body: bytes) -> bytes:
        """Process a frame that the bookie sent during authentication, and return the bytes to send."""
        assert self._login is not None  # noqa: S101 -- the states ensure it
        if body[:1] != bytes([_VERSION_2]):
            return b""
        if body[1:2] == bytes([_READ_ENTRY]):
            (code,) = struct.unpack_from(">i", body, 4)
            if code == response_status.NOT_AUTHENTICATED or not self._has_proven:
                raise PermissionDenied(
                    f"{self._where}: the bookie refused the user and password; check "
                    f"bookkeeperClientAuthenticationParameters, and saslJaasClientAllowedIds in bookkeeper.conf"
                )
            return self._open()
        try:
            message = wire.AuthMessage.FromString(body[4:])
        except DecodeError:
            raise ProtocolError(
                f"{self._where}: expected an answer to AUTH, got another message; check the bookie's address"
            ) from None
        if message.authPluginName == _NO_AUTHENTICATION:
            return self._open()
        try:
            if b"rspauth" in message.payload:
                self._login.check(message.payload)
                self._has_proven = True
                return b""
            return self._encode(_auth(self._login.respond(message.payload)) + _PROBE_REQUEST)
        except (PermissionDenied, ProtocolError) as fault:
            raise type(fault)(f"{self._where}: {fault}") from None

    def _take_answer(self) -> wire.Response | None:
        """Remove and return the first answer of version 3. Return None if the answer is incomplete."""
        body = self._take_body()
        if body is None:
            return None
        try:
            return wire.Response.FromString(body)
        except DecodeError:
            raise ProtocolError(
                f"{self._where}: expected an answer to START_TLS, got another message; check the bookie's address"
            ) from None

    def _take_body(self) -> bytes | None:
        """Remove and return the body of the first frame. Return None if the frame is incomplete."""
        if len(self._answers) < struct.calcsize(">I"):
            return None
        (size,) = struct.unpack_from(">I", self._answers)
        if size > _LONGEST_ANSWER:
            raise ProtocolError(
                f"{self._where}: expected an answer to START_TLS, got another message; check the bookie's address"
            )
        end = struct.calcsize(">I") + size
        if len(self._answers) < end:
            return None
        body = bytes(self._answers[struct.calcsize(">I") : end])
        del self._answers[:end]
        return body

    def _open(self) -> bytes:
        self._state = _State.OPEN
        waiting = bytes(self._waiting)
        self._waiting.clear()
        return self._encode(waiting)

    def _encode(self, requests: bytes) -> bytes:
        if self._tls is None or not requests:
            return requests
        rest = memoryview(requests)
        while rest:
            rest = rest[self._tls.write(rest) :]
        return self._outgoing.read()


def _auth(payload: bytes) -> bytes:
    message = wire.AuthMessage(authPluginName=_SASL, payload=payload)
    return _frame(bytes([_VERSION_2, _AUTH, 0, 0]) + message.SerializeToString())


def _frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body
