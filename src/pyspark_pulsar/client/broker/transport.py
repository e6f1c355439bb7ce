"""Bytes to and from one broker: a socket, and the kernel's decoder that takes what it gives apart into frames.

MESSAGE frames stay in the kernel until a consumer takes them; when more than `MAX_BUFFERED_BYTES` wait there, the
receiving thread pauses and TCP pushes back on the broker.

Framing: the binary protocol specification, section "Framing".
"""

from __future__ import annotations

import contextlib
import socket
import threading

from pyspark_pulsar._kernel import (
    EntryBatch as EntryBatch,  # noqa: PLC0414 -- the rest of the client gets it here
    FrameDecoder,
    KernelError,
    SendFrames as SendFrames,  # noqa: PLC0414 -- likewise
    renew_chunks as renew_chunks,  # noqa: PLC0414 -- likewise
)
from pyspark_pulsar.client.security.context import Security
from pyspark_pulsar.client.security.tls import TlsStream, connection_fault
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.errors import ConnectionFailed

MAX_BUFFERED_BYTES = 32 * 1024 * 1024
DEFAULT_MAX_MESSAGE_BYTES = 5 * 1024 * 1024
SEND_BYTES = 1024 * 1024
_RECEIVE_BYTES = 512 * 1024
# The broker's largest frame is its largest message plus 10 KiB for commands and metadata; headers of a
# message (properties) count as metadata and can exceed that.
_FRAME_ALLOWANCE = 16 * 1024 * 1024


class Transport:
    """Open with `open_transport`. One thread receives; any thread may send, take entries or close."""

    def __init__(self, address: BrokerAddress, stream: socket.socket | TlsStream) -> None:
        self.address = address
        self._stream = stream
        self._decoder = FrameDecoder(DEFAULT_MAX_MESSAGE_BYTES + _FRAME_ALLOWANCE)
        self._drained = threading.Condition()
        self._send_lock = threading.Lock()
        self._closed = False

    def limit_messages(self, max_bytes: int) -> None:
        """The broker's largest message. Call before the first consumer: what is received in part is let go."""
        with self._drained:
            self._decoder = FrameDecoder(max_bytes + _FRAME_ALLOWANCE)

    def wait_at_most(self, seconds: float) -> None:
        """How long `receive`, and `send` for each `SEND_BYTES`, may take before they raise TimeoutError."""
        self._stream.settimeout(seconds)

    def send(self, data: bytes | memoryview) -> None:
        """Raises OSError when the connection breaks; part of the data may have left."""
        left = memoryview(data).cast("B")
        with self._send_lock:
            # A limit for all of it would be one of the rate: a broker that lets a producer wait takes little by little.
            for start in range(0, len(left), SEND_BYTES):
                self._stream.sendall(left[start : start + SEND_BYTES])

    def receive(self) -> bytes:
        """Whatever came, for `commands`; empty when the broker has closed. Raises OSError as sockets do."""
        return self._stream.recv(_RECEIVE_BYTES)

    def commands(self, data: bytes) -> list[bytes]:
        """The commands that are complete with `data`, each the bytes of a BaseCommand; entries are kept for
        `take_entries`. Raises `ConnectionFailed` for what is no frame."""
        try:
            with self._drained:
                return self._decoder.feed(data)
        except KernelError as fault:
            raise ConnectionFailed(
                f"{self.address}: expected a frame of Pulsar's binary protocol: {fault.message}; "
                f"check that service.url names the broker's binary port"
            ) from fault

    def has_entries(self) -> bool:
        """Whether entries wait for some consumer."""
        with self._drained:
            return self._decoder.buffered_bytes() > 0

    def take_entries(self, consumer_id: int) -> EntryBatch | None:
        """Everything received for the consumer so far; None when nothing is."""
        with self._drained:
            entries = self._decoder.take_entries(consumer_id)
            if entries is not None:
                self._drained.notify_all()
            return entries

    def first_entry(self, consumer_id: int) -> tuple[int, int] | None:
        """(ledger, entry) of the first that waits for the consumer."""
        with self._drained:
            return self._decoder.first_entry(consumer_id)

    def drop_consumer(self, consumer_id: int) -> None:
        """Let go of what waits for the consumer and of what still arrives for it."""
        with self._drained:
            self._decoder.drop_consumer(consumer_id)
            self._drained.notify_all()

    def has_room(self, wait_seconds: float = 0.0) -> bool:
        """Whether no more than `MAX_BUFFERED_BYTES` wait for consumers, or come to within so many seconds. True when
        closed."""
        with self._drained:
            return self._drained.wait_for(self._has_room, wait_seconds)

    def _has_room(self) -> bool:
        return self._closed or self._decoder.buffered_bytes() <= MAX_BUFFERED_BYTES

    def close(self) -> None:
        """Wakes whoever sends, receives or pauses."""
        with self._drained:
            self._closed = True
            self._drained.notify_all()
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()


def open_transport(address: BrokerAddress, connect_seconds: float, security: Security) -> Transport:
    """Connect. Raises `ConnectionFailed` saying where and why, `TlsFailed` where another attempt would not help,
    `OptionError` for the files of TLS."""
    door = security.proxy or address
    context = None if security.tls is None else security.tls.context()
    try:
        stream = socket.create_connection((door.host, door.port), timeout=connect_seconds)
    except OSError as fault:
        option = "service.url" if security.proxy is None else "pulsar.client.proxyServiceUrl"
        raise ConnectionFailed(
            f"cannot connect to {door}: {fault}; check that Pulsar runs there and that {option} names "
            f"its binary port (6650 by default, 6651 with TLS)"
        ) from fault
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if context is None:
        return Transport(address, stream)
    try:
        return Transport(address, TlsStream(stream, context, address.host))
    except OSError as fault:
        stream.close()
        raise connection_fault(f"connecting to {address}", fault) from fault
