"""Bytes to and from one broker: a socket, and the kernel's decoder, which splits received bytes into frames.

MESSAGE frames stay in the kernel until their consumer collects them. While more than `MAX_BUFFERED_BYTES` bytes of
frames wait, the receiving thread pauses, and TCP slows the broker down.

Framing: the binary protocol specification, section "Framing".
"""

from __future__ import annotations

import contextlib
import ssl

from pyspark_pulsar._kernel import (
    EntryBatch as EntryBatch,  # noqa: PLC0414 -- the rest of the client imports it from here
    FrameDecoder,
    KernelError,
    SendFrames as SendFrames,  # noqa: PLC0414 -- likewise
    renew_chunks as renew_chunks,  # noqa: PLC0414 -- likewise
)
from pyspark_pulsar.client.security.context import Security
from pyspark_pulsar.client.security.tls import TlsStream, connection_fault
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.client.time_limit import addresses_of
from pyspark_pulsar.errors import ConnectionFailed, DeadlineExceeded
from pyspark_pulsar.runtime import socket, threading, time

MAX_BUFFERED_BYTES = 32 * 1024 * 1024
DEFAULT_MAX_MESSAGE_BYTES = 5 * 1024 * 1024
SEND_BYTES = 1024 * 1024
_RECEIVE_BYTES = 512 * 1024
# The size limit of a broker's frames is the message limit plus 10 KiB for the command and the metadata. This allowance
# is far larger, because the properties of a message count as metadata and can exceed 10 KiB.
_FRAME_ALLOWANCE = 16 * 1024 * 1024
_LEAST_SECONDS = 0.05
# The operating system detects a vanished host after 25 s: 10 s of silence, then three probes without an answer.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}


class Transport:
    """A connected socket and its decoder. One thread receives; any thread can send, collect entries or close."""

    def __init__(self, address: BrokerAddress, stream: socket.socket | TlsStream) -> None:
        self.address = address
        self._stream = stream
        self._decoder = FrameDecoder(DEFAULT_MAX_MESSAGE_BYTES + _FRAME_ALLOWANCE)
        self._drained = threading.Condition()
        self._send_lock = threading.Lock()
        self._closed = False

    def limit_messages(self, max_bytes: int) -> None:
        """Set the broker's size limit for messages, in bytes.

        Call this method before the first consumer is added, because the method discards received parts of frames.
        """
        with self._drained:
            self._decoder = FrameDecoder(max_bytes + _FRAME_ALLOWANCE)

    def wait_at_most(self, seconds: float) -> None:
        """Set the timeout in seconds for `receive`, and for each `SEND_BYTES` bytes of `send`.

        After the timeout, `receive` and `send` raise TimeoutError.
        """
        self._stream.settimeout(seconds)

    def send(self, data: bytes | memoryview) -> None:
        """Send all data. Raise OSError if the connection breaks, perhaps after a part of the data was sent."""
        left = memoryview(data).cast("B")
        with self._send_lock:
            # A timeout for all data together would demand a minimum rate, but brokers slow producers down on purpose.
            for start in range(0, len(left), SEND_BYTES):
                self._stream.sendall(left[start : start + SEND_BYTES])

    def receive(self) -> bytes:
        """Return received bytes for `commands`, or no bytes if the broker has closed the connection. Raise OSError."""
        return self._stream.recv(_RECEIVE_BYTES)

    def commands(self, data: bytes) -> list[bytes]:
        """Decode received bytes, and store entries for `take_entries`.

        Args:
            data: The next received bytes.

        Returns:
            The commands whose last byte has now been received, each as the bytes of a BaseCommand.

        Raises:
            ConnectionFailed: The bytes are not a frame of the protocol.

        """
        try:
            with self._drained:
                return self._decoder.feed(data)
        except KernelError as fault:
            raise ConnectionFailed(
                f"{self.address}: expected a frame of Pulsar's binary protocol, got another frame ({fault.message}); "
                f"check that service.url names the broker's binary port"
            ) from fault

    def has_entries(self) -> bool:
        """Return whether entries wait for any consumer."""
        with self._drained:
            return self._decoder.buffered_bytes() > 0

    def take_entries(self, consumer_id: int) -> EntryBatch | None:
        """Remove and return all entries received for the consumer, or None if no entry waits."""
        with self._drained:
            entries = self._decoder.take_entries(consumer_id)
            if entries is not None:
                self._drained.notify_all()
            return entries

    def first_entry(self, consumer_id: int) -> tuple[int, int] | None:
        """Return the ledger id and entry id of the consumer's first waiting entry, or None if no entry waits."""
        with self._drained:
            return self._decoder.first_entry(consumer_id)

    def add_consumer(self, consumer_id: int) -> None:
        """Store the entries that arrive for the consumer from now on, until `drop_consumer`."""
        with self._drained:
            self._decoder.add_consumer(consumer_id)

    def drop_consumer(self, consumer_id: int) -> None:
        """Drop the consumer's waiting entries, and all its entries that arrive later."""
        with self._drained:
            self._decoder.drop_consumer(consumer_id)
            self._drained.notify_all()

    def has_room(self, wait_seconds: float = 0.0) -> bool:
        """Return whether at most `MAX_BUFFERED_BYTES` bytes of entries wait for consumers.

        If more bytes are waiting, first wait up to `wait_seconds` for consumers to collect entries. A closed transport
        always has room.
        """
        with self._drained:
            return self._drained.wait_for(self._has_room, wait_seconds)

    def _has_room(self) -> bool:
        return self._closed or self._decoder.buffered_bytes() <= MAX_BUFFERED_BYTES

    def close(self) -> None:
        """Close the socket, and wake the threads that send, receive or pause."""
        with self._drained:
            self._closed = True
            self._drained.notify_all()
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()


def open_transport(
    address: BrokerAddress, seconds: float, security: Security, context: ssl.SSLContext | None
) -> Transport:
    """Connect to a broker.

    Args:
        address: The address of the broker.
        seconds: Time limit for connecting and the TLS handshake together, in seconds.
        security: The settings, which can contain a proxy.
        context: The TLS context, or None to connect without TLS.

    Raises:
        ConnectionFailed: The broker is unreachable. The message contains the address and the reason.
        TlsFailed: The TLS handshake failed, and a retry would not help.

    """
    deadline = time.monotonic() + seconds
    door = security.proxy or address
    try:
        stream = _connect(door, deadline)
    except (OSError, UnicodeError, DeadlineExceeded) as fault:
        option = "service.url" if security.proxy is None else "pulsar.client.proxyServiceUrl"
        raise ConnectionFailed(
            f"cannot connect to {door}: {fault}; check that Pulsar runs there and that {option} names "
            f"its binary port (6650 by default, 6651 with TLS)"
        ) from fault
    if context is None:
        return Transport(address, stream)
    try:
        left = max(_LEAST_SECONDS, deadline - time.monotonic())
        return Transport(address, TlsStream(stream, context, address.host, left))
    except OSError as fault:
        stream.close()
        raise connection_fault(f"connecting to {address}", fault) from fault
    except BaseException:
        stream.close()
        raise


def _connect(door: BrokerAddress, deadline: float) -> socket.socket:
    """Connect to one of the host's addresses. Each address gets an equal part of the remaining time."""
    found = addresses_of(door.host, door.port, deadline - time.monotonic())
    fault: OSError = OSError("the host name has no address")
    for index, (family, kind, protocol, _, address) in enumerate(found):
        left = max(_LEAST_SECONDS, (deadline - time.monotonic()) / (len(found) - index))
        try:
            stream = socket.socket(family, kind, protocol)
        except OSError as refused:
            # For example, IPv6 on a machine without IPv6.
            fault = refused
            continue
        try:
            stream.settimeout(left)
            stream.connect(address)
            _set_options(stream)
        except OSError as refused:
            stream.close()
            fault = refused
        except BaseException:
            stream.close()
            raise
        else:
            return stream
    raise fault


def _set_options(stream: socket.socket) -> None:
    """Send small frames immediately, and let the operating system detect a vanished host.

    If a host vanishes, its connections stay open. PING detects a vanished host only after 60 s, because a busy broker
    can be slow to answer (`connection`). TCP keep-alive probes can be more frequent, because the operating system
    answers a probe even if the broker is busy. TCP_USER_TIMEOUT is not set, because this timeout would also close a
    connection on which a broker slows a producer down.
    """
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            stream.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
