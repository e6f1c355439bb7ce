"""TLS over a socket: whom we believe, what we show, and a stream that one thread reads while others write.

Python's own TLS sockets are not made for a thread that reads while another writes. So the socket carries records that
OpenSSL makes and takes in memory, under a lock that is never held while anyone waits for the network.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark_pulsar.errors import ConnectionFailed, OptionError, TlsFailed
from pyspark_pulsar.options.values.regular_file import check_regular_file

_RECEIVE_BYTES: Final = 256 * 1024
# OpenSSL's words for an alert of the other side, or for bytes that are no TLS.
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE", "RECORD_LAYER_FAILURE")
_WANTS_CERTIFICATE: Final = (
    "CERTIFICATE_REQUIRED",
    "ALERT_INTERNAL_ERROR",  # what brokers say of a certificate that they do not believe
    "BAD_CERTIFICATE",
    "HANDSHAKE_FAILURE",
    "UNKNOWN_CA",
    "CERTIFICATE_UNKNOWN",
)


class Tls:
    """Whom we believe and what we show. Safe to use from several threads."""

    def __init__(
        self,
        trust_certs: str | None = None,
        own: tuple[str, str] | None = None,
        *,
        insecure: bool = False,
        verify_hostname: bool = True,
    ) -> None:
        """Paths of the authorities' certificates (None: the system's), and of our certificate and private key."""
        self._trust_certs = trust_certs
        self._own = own
        self._insecure = insecure
        self.verifies_hostname = verify_hostname and not insecure
        self._lock = threading.Lock()
        self._known: tuple[tuple[float, ...], ssl.SSLContext] | None = None

    def context(self) -> ssl.SSLContext:
        """Made anew when a file has changed, as certificates are renewed while queries run.

        Raises `OptionError` for files that are missing or not what they should be.
        """
        with self._lock:
            times = tuple(
                _changed(path) for path in (self._trust_certs, *(self._own or ())) if path is not None
            )
            if self._known is None or self._known[0] != times:
                self._known = (times, self._made())
            return self._known[1]

    def _made(self) -> ssl.SSLContext:
        context = trusting(None if self._insecure else self._trust_certs)
        context.check_hostname = self.verifies_hostname
        if self._insecure:
            context.verify_mode = ssl.CERT_NONE
        if self._own is not None:
            certificate, key = self._own
            try:
                for path in self._own:
                    check_regular_file(Path(path).stat())
                # Without a password OpenSSL would ask for one on the terminal.
                context.load_cert_chain(certificate, key, password="")
            except OSError as fault:
                raise OptionError(
                    f"the certificate {certificate} and its private key {key} cannot be used: {_reason(fault)}; both "
                    f"are needed on each machine that connects, in PEM format, the key not encrypted"
                ) from None
        return context


def trusting(trust_certs: str | None) -> ssl.SSLContext:
    """Believes certificates of these authorities, or of the system's. Raises `OptionError` for the file."""
    try:
        if trust_certs is not None:
            check_regular_file(Path(trust_certs).stat())
        return ssl.create_default_context(cafile=trust_certs)
    except OSError as fault:
        raise OptionError(
            f"{trust_certs} holds no certificates that can be used: {_reason(fault)}; they are needed on each machine "
            f"that connects, in PEM format"
        ) from None


class TlsStream:
    """What `transport` uses of a socket. One thread receives; any thread may send or close."""

    def __init__(self, stream: socket.socket, context: ssl.SSLContext, host: str, seconds: float) -> None:
        """Agree upon TLS with `host` over a connected socket, within `seconds`. Raises OSError, also `ssl.SSLError`."""
        self._stream = stream
        self._received, self._made = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._made, server_hostname=host)
        self._state = threading.Lock()
        self._order = threading.Lock()
        self._shake_hands(time.monotonic() + seconds)

    def _shake_hands(self, deadline: float) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError("the handshake of TLS did not end in time") from None
                self._stream.settimeout(left)
                self._stream.sendall(self._made.read())
                data = self._stream.recv(_RECEIVE_BYTES)
                if not data:
                    raise ConnectionResetError(
                        "the server closed the connection during the handshake of TLS; check that its port is that of "
                        "TLS (6651 by default, 8443 of admin.url)"
                    ) from None
                self._received.write(data)
            except ssl.SSLError:
                # The other side is told why.
                with contextlib.suppress(OSError):
                    self._stream.sendall(self._made.read())
                raise
            else:
                self._stream.sendall(self._made.read())
                return

    def settimeout(self, seconds: float) -> None:
        self._stream.settimeout(seconds)

    def sendall(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        with self._order:
            with self._state:
                while rest:
                    rest = rest[self._tls.write(rest) :]
                records = self._made.read()
            self._stream.sendall(records)

    def recv(self, most: int) -> bytes:
        """Empty when the other side has closed."""
        while True:
            with self._state:
                data, ended = self._read(most)
                answers = self._made.pending
            if answers:
                self._flush()
            if data or ended:
                return data
            received = self._stream.recv(_RECEIVE_BYTES)
            with self._state:
                if received:
                    self._received.write(received)
                else:
                    self._received.write_eof()

    def _read(self, most: int) -> tuple[bytes, bool]:
        """All that is there, and whether nothing more will come."""
        parts: list[bytes] = []
        size = 0
        try:
            while size < most:
                part = self._tls.read(most - size)
                if not part:
                    return b"".join(parts), True
                parts.append(part)
                size += len(part)
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            # Frames say how long they are, so an end that TLS did not announce cuts nothing off unseen.
            return b"".join(parts), True
        except ssl.SSLError:
            if not parts:
                raise
        return b"".join(parts), False

    def _flush(self) -> None:
        """Send what TLS itself has to say, such as new keys."""
        with self._order:
            with self._state:
                records = self._made.read()
            if records:
                self._stream.sendall(records)

    def shutdown(self, how: int) -> None:
        self._stream.shutdown(how)

    def close(self) -> None:
        self._stream.close()


def connection_fault(where: str, fault: OSError) -> ConnectionFailed | TlsFailed:
    """What a failed connection with TLS means: passing, or of a kind that no further attempt will mend."""
    if isinstance(fault, ssl.SSLError) and not isinstance(fault, ssl.SSLEOFError):
        return certificate_fault(where, fault)
    return ConnectionFailed(f"{where}: {fault}")


@dataclass(frozen=True, slots=True)
class OptionNames:
    """Which options say whom we believe and what we show."""

    trust: str = "pulsar.client.tlsTrustCertsFilePath"
    certificate: str = "pulsar.client.tlsCertificateFilePath and tlsKeyFilePath"
    hostname: str = "pulsar.client.tlsHostnameVerificationEnable"


_OF_BROKERS: Final = OptionNames()


def certificate_fault(where: str, fault: ssl.SSLError, options: OptionNames = _OF_BROKERS) -> TlsFailed:
    """Says what to change."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        said = fault.verify_message
        if "match" in said:
            advice = (
                "connect to a name that the certificate has, or, where you know why it differs, set "
                f"{options.hostname}=false"
            )
        elif "expired" in said or "not yet valid" in said:
            advice = "have it renewed, and look at the clocks"
        else:
            advice = f"name the authority that signed it in {options.trust}"
        return TlsFailed(f"{where}: the server's certificate is not believed: {said}; {advice}")
    said = str(fault.reason or fault)
    if any(word in said for word in _NO_TLS):
        return TlsFailed(
            f"{where}: expected TLS, got something else ({said}); check that the port is that of TLS"
        )
    if any(word in said for word in _WANTS_CERTIFICATE):
        return TlsFailed(
            f"{where}: the server refused TLS ({said}); it may ask for a certificate, or not "
            f"believe the one shown: give {options.certificate}, signed by an authority that it believes"
        )
    return TlsFailed(f"{where}: TLS failed: {said}")


def _reason(fault: OSError) -> str:
    return str((fault.reason if isinstance(fault, ssl.SSLError) else fault.strerror) or fault)


def _changed(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return 0.0
