"""One connection to a bookie, from its first byte until it reads entries: bytes in, bytes out, no socket.

First TLS, then authentication, each where the options say so, then entries.

    state          | what comes                               | what goes out                       | next state
    (new)          | connected (`begin`), with TLS            | START_TLS, version 3                | ASKED_FOR_TLS
                   | connected, without TLS, with a password  | AUTH, empty                         | AUTHENTICATES
                   | connected, with neither                  | requests that waited                | OPEN
    ASKED_FOR_TLS  | the answer, status OK                    | the first record of TLS             | SHAKES_HANDS
                   | another answer                           |                                     | `TlsFailed`
    SHAKES_HANDS   | records                                  | records                             | SHAKES_HANDS
                   | the last of them, with a password        | AUTH, empty                         | AUTHENTICATES
                   | the last of them, without                | requests that waited                | OPEN
                   | a certificate that is not believed       |                                     | `TlsFailed`
    AUTHENTICATES  | AUTH with a challenge                    | AUTH with our proof, and READ_ENTRY | AUTHENTICATES
                   |                                          | of a ledger that cannot be          |
                   | AUTH with the bookie's proof             |                                     | AUTHENTICATES
                   | AUTH of AuthDisabledPlugin               | requests that waited                | OPEN
                   | READ_ENTRY answered, the proof was here  | requests that waited                | OPEN
                   | READ_ENTRY refused, or no proof before   |                                     | `PermissionDenied`
                   | the end of the connection (`closed`)     |                                     | `PermissionDenied`
                   | a frame of version 3                     |                                     | AUTHENTICATES
    OPEN           | frames of version 2, for the caller      | requests, at once                   | OPEN
                   | behind TLS, first a frame of version 3   |                                     | `PermissionDenied`

TLS is agreed upon on the plain port: a START_TLS request of the protocol's version 3, its answer, then the handshake.
From then on all is version 2, as without TLS. Source: `PerChannelBookieClient`, `AuthHandler` and
`BookieRequestProcessor` of BookKeeper 4.17.

A bookie that speaks TLS but wants more of its client (an authentication provider) says so behind the handshake, in an
answer of version 3 to START_TLS that nobody has asked for, and keeps the connection. It says the same of one that will
authenticate next, which is passed over.

Authentication is SASL with DIGEST-MD5, in AUTH messages of version 2. A bookie that does not believe a proof says
nothing; so it is asked for an entry right behind it, which it then refuses.
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
# Of a frame, behind its length: the first byte of an answer of version 2 is that number, of version 3 a field's tag.
_VERSION_2: Final = 2
_READ_ENTRY, _AUTH = 2, 3
_SASL: Final = "sasl"
_NO_AUTHENTICATION: Final = "AuthDisabledPlugin"
# For the first entry of a ledger that cannot be.
_ASK: Final = struct.pack(">IBBHqq", 20, _VERSION_2, _READ_ENTRY, 0, (1 << 63) - 1, 0)
_LONGEST_ANSWER: Final = 64 * 1024
_READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BookieSecurity:
    """What connections to bookies need."""

    tls: Tls | None = None
    """None: plain text."""
    login: Callable[[], tuple[str, str]] | None = None
    """Gives user and password, read anew for each connection; None: no authentication."""


PLAIN: Final = BookieSecurity()


class _State(enum.Enum):
    ASKED_FOR_TLS = enum.auto()
    SHAKES_HANDS = enum.auto()
    AUTHENTICATES = enum.auto()
    OPEN = enum.auto()


class BookieChannel:
    """What is sent before the connection is open waits here. Raises `TlsFailed`, `PermissionDenied`, `ProtocolError`;
    then the connection is of no more use."""

    def __init__(self, security: BookieSecurity, address: BookieAddress) -> None:
        """Raises `OptionError` for files of certificates."""
        self._security = security
        self._where = f"bookie {address}"
        self._host = address.host
        self._context = security.tls.context() if security.tls is not None else None
        self._state: _State | None = None
        self._received, self._made = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._waiting = bytearray()
        self._answers = bytearray()
        self._login = DigestMd5(*security.login()) if security.login is not None else None
        self._has_proven = False
        self._speaks_version_2 = security.tls is None

    @property
    def is_open(self) -> bool:
        """Whether requests go out at once."""
        return self._state is _State.OPEN

    def _authenticates(self) -> bool:
        return self._state is _State.AUTHENTICATES

    @property
    def doing(self) -> str:
        """What the bookie was asked for before it may be asked for entries, with a space behind it; else nothing."""
        if self._authenticates():
            return "while it was told who asks "
        return "" if self.is_open else "while TLS was agreed upon "

    def closed(self) -> PermissionDenied | None:
        """What it means that the bookie has closed the connection now; None where that may pass."""
        if not self._authenticates():
            return None
        return PermissionDenied(
            f"{self._where}: it closed the connection when it was given a password; it may want to be told who asks in "
            f"another way (bookieAuthProviderFactoryClass in its bookkeeper.conf), such as by a certificate"
        )

    def begin(self) -> bytes:
        """What goes out first, once connected."""
        if self._context is None:
            return self._authenticate()
        self._state = _State.ASKED_FOR_TLS
        header = wire.BKPacketHeader(version=wire.VERSION_THREE, operation=wire.START_TLS, txnId=1)
        return _frame(wire.Request(header=header, startTLSRequest=wire.StartTLSRequest()).SerializeToString())

    def send(self, requests: bytes) -> bytes:
        """What of it goes out now."""
        if not self.is_open:
            self._waiting += requests
            return b""
        return self._encoded(requests)

    def receive(self, data: bytes) -> tuple[bytes, bytes]:
        """Of what came: answers of version 2, in pieces of any size; and what goes out in return."""
        if self._state is _State.ASKED_FOR_TLS:
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
                data, outgoing = self._decoded(data)
            except ssl.SSLError as fault:
                raise certificate_fault(self._where, fault, TLS_OPTIONS) from None
        if not self._authenticates():
            return self._passed_on(data), outgoing
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
                f"{self._where}: expected TLS, got status {answer.status}: TLS is not set up there "
                f"(tlsProviderFactoryClass in its bookkeeper.conf); set it up, read from elsewhere (readFrom=broker or "
                f"tiered), or allow plain text (bookieTls=false)"
            )
        self._tls = self._context.wrap_bio(self._received, self._made, server_hostname=self._host)
        self._state = _State.SHAKES_HANDS

    def _decoded(self, records: bytes) -> tuple[bytes, bytes]:
        assert self._tls is not None  # noqa: S101 -- the states say so
        self._received.write(records)
        outgoing = b""
        if self._state is _State.SHAKES_HANDS:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                return b"", self._made.read()
            outgoing = self._made.read() + self._authenticate()
        plain = bytearray()
        try:
            while part := self._tls.read(_READ_BYTES):
                plain += part
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
            pass
        return bytes(plain), outgoing + self._made.read()

    def _passed_on(self, plain: bytes) -> bytes:
        """Without what the bookie has to say of the handshake."""
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
                f"{self._where}: it spoke TLS and then refused this client with status {answer.status}: its "
                f"authentication provider (bookieAuthProviderFactoryClass in its bookkeeper.conf) wants a certificate "
                f"with one of its authorizedRoles in OU ({TLS_OPTIONS.certificate}), or a password "
                f"(bookkeeperClientAuthenticationPlugin)"
            )
        self._speaks_version_2 = True
        plain = bytes(self._answers)
        self._answers.clear()
        return plain

    def _authenticate(self) -> bytes:
        if self._login is None:
            return self._opened()
        self._state = _State.AUTHENTICATES
        return self._encoded(_auth(b""))

    def _take_step(self, body: bytes) -> bytes:
        """What a frame of the bookie's makes us say."""
        assert self._login is not None  # noqa: S101 -- the states say so
        if body[:1] != bytes([_VERSION_2]):
            return b""
        if body[1:2] == bytes([_READ_ENTRY]):
            (code,) = struct.unpack_from(">i", body, 4)
            if code == response_status.NOT_AUTHENTICATED or not self._has_proven:
                raise PermissionDenied(
                    f"{self._where}: it did not believe user and password; check "
                    f"bookkeeperClientAuthenticationParameters, and saslJaasClientAllowedIds in its bookkeeper.conf"
                )
            return self._opened()
        try:
            message = wire.AuthMessage.FromString(body[4:])
        except DecodeError:
            raise ProtocolError(f"{self._where}: expected an answer to AUTH, got something else") from None
        if message.authPluginName == _NO_AUTHENTICATION:
            return self._opened()
        try:
            if b"rspauth" in message.payload:
                self._login.check(message.payload)
                self._has_proven = True
                return b""
            return self._encoded(_auth(self._login.respond(message.payload)) + _ASK)
        except (PermissionDenied, ProtocolError) as fault:
            raise type(fault)(f"{self._where}: {fault}") from None

    def _take_answer(self) -> wire.Response | None:
        """The first answer of version 3, once all of it is here."""
        body = self._take_body()
        if body is None:
            return None
        try:
            return wire.Response.FromString(body)
        except DecodeError:
            raise ProtocolError(
                f"{self._where}: expected an answer to START_TLS, got something else: it is no bookie"
            ) from None

    def _take_body(self) -> bytes | None:
        """The first frame, once all of it is here."""
        if len(self._answers) < struct.calcsize(">I"):
            return None
        (size,) = struct.unpack_from(">I", self._answers)
        if size > _LONGEST_ANSWER:
            raise ProtocolError(
                f"{self._where}: expected an answer to START_TLS, got something else: it is no bookie"
            )
        end = struct.calcsize(">I") + size
        if len(self._answers) < end:
            return None
        body = bytes(self._answers[struct.calcsize(">I") : end])
        del self._answers[:end]
        return body

    def _opened(self) -> bytes:
        self._state = _State.OPEN
        waiting = bytes(self._waiting)
        self._waiting.clear()
        return self._encoded(waiting)

    def _encoded(self, requests: bytes) -> bytes:
        if self._tls is None or not requests:
            return requests
        rest = memoryview(requests)
        while rest:
            rest = rest[self._tls.write(rest) :]
        return self._made.read()


def _auth(payload: bytes) -> bytes:
    message = wire.AuthMessage(authPluginName=_SASL, payload=payload)
    return _frame(bytes([_VERSION_2, _AUTH, 0, 0]) + message.SerializeToString())


def _frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body
