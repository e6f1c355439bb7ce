"""TLS over a socket: certificates, verification, and a stream that one thread reads while other threads write.

Python's own TLS sockets do not allow one thread to read while another thread writes. In this module, OpenSSL encrypts
and decrypts records in memory, and separate calls send and receive the records on the socket. No thread locks OpenSSL
while the thread waits for the network.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark_pulsar.errors import ConnectionFailed, OptionError, TlsFailed
from pyspark_pulsar.options.values.regular_file import check_regular_file
from pyspark_pulsar.runtime import threading, time

_RECEIVE_BYTES: Final = 256 * 1024
# Parts of OpenSSL's error names. The names in `_NO_TLS` mean that the other side does not use TLS. The names in
# `_WANTS_CERTIFICATE` mean that the other side sent an alert about a certificate.
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE", "RECORD_LAYER_FAILURE")
_WANTS_CERTIFICATE: Final = (
    "CERTIFICATE_REQUIRED",
    "ALERT_INTERNAL_ERROR",  # a broker's alert for a certificate that the broker does not trust
    "BAD_CERTIFICATE",
    "HANDSHAKE_FAILURE",
    "UNKNOWN_CA",
    "CERTIFICATE_UNKNOWN",
)


class Tls:
    """TLS settings: trusted authorities and the client's certificate. Several threads can share an instance."""

    def __init__(
        self,
        trust_certs: str | None = None,
        own: tuple[str, str] | None = None,
        *,
        insecure: bool = False,
        verify_hostname: bool = True,
    ) -> None:
        """Store the settings, without reading any file.

        Args:
            trust_certs: Path of the certificates of trusted authorities, or None to trust the system's authorities.
            own: Paths of the client's certificate and private key, or None to send no certificate.
            insecure: Whether to trust every certificate.
            verify_hostname: Whether the server's certificate must contain the name of its host.

        """
        self._trust_certs = trust_certs
        self._own = own
        self._insecure = insecure
        self.verifies_hostname = verify_hostname and not insecure
        self._lock = threading.Lock()
        self._cached: tuple[tuple[float, ...], ssl.SSLContext] | None = None

    def context(self) -> ssl.SSLContext:
        """Return the TLS context. If a file has changed since the last call, build the context again.

        The files can change, because operators renew certificates while queries run.

        Raises:
            OptionError: A file is missing, or contains no usable certificate or key.

        """
        with self._lock:
            times = tuple(
                _modified_at(path) for path in (self._trust_certs, *(self._own or ())) if path is not None
            )
            if self._cached is None or self._cached[0] != times:
                self._cached = (times, self._build_context())
            return self._cached[1]

    def _build_context(self) -> ssl.SSLContext:
        context = trusting_context(None if self._insecure else self._trust_certs)
        context.check_hostname = self.verifies_hostname
        if self._insecure:
            context.verify_mode = ssl.CERT_NONE
        if self._own is not None:
            certificate, key = self._own
            try:
                for path in self._own:
                    check_regular_file(Path(path).stat())
                # Without this argument, OpenSSL would prompt on the terminal for the password of an encrypted key.
                context.load_cert_chain(certificate, key, password="")
            except OSError as fault:
                raise OptionError(
                    f"the certificate {certificate} and its private key {key} cannot be used: {_reason(fault)}; "
                    f"provide both in PEM format, with an unencrypted key, on each machine that connects"
                ) from None
        return context


def trusting_context(trust_certs: str | None) -> ssl.SSLContext:
    """Return a TLS context that trusts the authorities in a file, or the system's authorities.

    Args:
        trust_certs: Path of the certificates of trusted authorities, or None to trust the system's authorities.

    Raises:
        OptionError: The file contains no usable certificates.

    """
    try:
        if trust_certs is not None:
            check_regular_file(Path(trust_certs).stat())
        return ssl.create_default_context(cafile=trust_certs)
    except OSError as fault:
        raise OptionError(
            f"{trust_certs} contains no usable certificates: {_reason(fault)}; provide certificates in PEM format "
            f"on each machine that connects"
        ) from None


class TlsStream:
    """A TLS stream with the socket methods that `transport` uses. One thread receives; any thread can send or close."""

    def __init__(self, stream: socket.socket, context: ssl.SSLContext, host: str, seconds: float) -> None:
        """Run the TLS handshake over a connected socket.

        Args:
            stream: The connected socket.
            context: The TLS context.
            host: The host name, for verification.
            seconds: Time limit of the handshake, in seconds.

        Raises:
            OSError: The connection failed. If TLS failed, the class is `ssl.SSLError`.

        """
        self._stream = stream
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
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
                    raise TimeoutError("the TLS handshake did not end in time") from None
                self._stream.settimeout(left)
                self._stream.sendall(self._outgoing.read())
                data = self._stream.recv(_RECEIVE_BYTES)
                if not data:
                    raise ConnectionResetError(
                        "the server closed the connection during the TLS handshake; check that its port is the one for "
                        "TLS (6651 by default, 8443 of admin.url)"
                    ) from None
                self._incoming.write(data)
            except ssl.SSLError:
                # Send the TLS alert, which contains the reason for the server.
                with contextlib.suppress(OSError):
                    self._stream.sendall(self._outgoing.read())
                raise
            else:
                self._stream.sendall(self._outgoing.read())
                return

    def settimeout(self, seconds: float) -> None:
        self._stream.settimeout(seconds)

    def sendall(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        with self._order:
            with self._state:
                while rest:
                    rest = rest[self._tls.write(rest) :]
                records = self._outgoing.read()
            self._stream.sendall(records)

    def recv(self, most: int) -> bytes:
        """Wait for data and return up to `most` bytes, or no bytes after the other side has closed the connection."""
        while True:
            with self._state:
                data, ended = self._read(most)
                answers = self._outgoing.pending
            if answers:
                self._flush()
            if data or ended:
                return data
            received = self._stream.recv(_RECEIVE_BYTES)
            with self._state:
                if received:
                    self._incoming.write(received)
                else:
                    self._incoming.write_eof()

    def _read(self, most: int) -> tuple[bytes, bool]:
        """Return up to `most` bytes that can be decrypted without waiting, and whether the stream has ended."""
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
            # A frame contains its length, so the decoder notices a truncated frame even without TLS's own end message.
            return b"".join(parts), True
        except ssl.SSLError:
            if not parts:
                raise
        return b"".join(parts), False

    def _flush(self) -> None:
        """Send the records that TLS itself has produced, such as key updates."""
        with self._order:
            with self._state:
                records = self._outgoing.read()
            if records:
                self._stream.sendall(records)

    def shutdown(self, how: int) -> None:
        self._stream.shutdown(how)

    def close(self) -> None:
        self._stream.close()


def connection_fault(where: str, fault: OSError) -> ConnectionFailed | TlsFailed:
    """Return the error for a failed TLS connection: `ConnectionFailed` if a retry can help, otherwise `TlsFailed`."""
    if isinstance(fault, ssl.SSLError) and not isinstance(fault, ssl.SSLEOFError):
        return certificate_fault(where, fault)
    return ConnectionFailed(f"{where}: {fault}")


@dataclass(frozen=True, slots=True)
class OptionNames:
    """Names of the TLS options, for advice in error messages."""

    trust: str = "pulsar.client.tlsTrustCertsFilePath"
    certificate: str = "pulsar.client.tlsCertificateFilePath and tlsKeyFilePath"
    hostname: str = "pulsar.client.tlsHostnameVerificationEnable"


_BROKER_OPTIONS: Final = OptionNames()


def certificate_fault(where: str, fault: ssl.SSLError, options: OptionNames = _BROKER_OPTIONS) -> TlsFailed:
    """Return the error for a failed TLS handshake. The message names the option to change."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        reason = fault.verify_message
        if "match" in reason:
            advice = (
                "connect to a name in the certificate, or, if you know why the name differs, set "
                f"{options.hostname}=false"
            )
        elif "expired" in reason or "not yet valid" in reason:
            advice = "have the certificate renewed, or correct the clocks"
        else:
            advice = f"add the authority that signed the certificate to {options.trust}"
        return TlsFailed(f"{where}: the server's certificate is not trusted: {reason}; {advice}")
    reason = str(fault.reason or fault)
    if any(word in reason for word in _NO_TLS):
        return TlsFailed(
            f"{where}: expected TLS, got something else ({reason}); check that the port is the one for TLS"
        )
    if any(word in reason for word in _WANTS_CERTIFICATE):
        return TlsFailed(
            f"{where}: the server refused TLS ({reason}), perhaps because it requires a certificate or does not trust "
            f"the client's; set {options.certificate} to a certificate of an authority that the server trusts"
        )
    return TlsFailed(f"{where}: TLS failed: {reason}")


def _reason(fault: OSError) -> str:
    return str((fault.reason if isinstance(fault, ssl.SSLError) else fault.strerror) or fault)


def _modified_at(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return 0.0
