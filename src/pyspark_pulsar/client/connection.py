"""One TCP connection to a broker: handshake, keep-alive, and who gets which answer.

A thread per connection receives; whoever calls sends. Requests carry an id and may be pipelined:
`submit` returns at once with a future. MESSAGE frames stay in the kernel until a consumer takes them; when
more than `MAX_BUFFERED_BYTES` wait there, receiving pauses and TCP pushes back on the broker.

Protocol: the binary protocol specification, sections "Connection establishment", "Keep Alive" and
"Framing". After any failure the connection is closed for good and every waiter gets the reason.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from pyspark_pulsar._kernel import (
    EntryBatch as EntryBatch,  # noqa: PLC0414 -- the rest of the client gets it here
    FrameDecoder,
    KernelError,
    SendFrames as SendFrames,  # noqa: PLC0414 -- likewise
)
from pyspark_pulsar.client.address import BrokerAddress
from pyspark_pulsar.client.commands import (
    ANSWERS,
    CLOSE_CONSUMER,
    CLOSE_PRODUCER,
    CONNECT,
    CONNECTED,
    ERROR,
    PING,
    PONG,
    REQUESTS,
    SEND_ERROR,
    SEND_RECEIPT,
    frame,
)
from pyspark_pulsar.client.refusal import refusal
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, DeadlineExceeded, ProtocolError

PROTOCOL_VERSION = 21
KEEP_ALIVE_SECONDS = 30.0
MAX_BUFFERED_BYTES = 32 * 1024 * 1024
_RECEIVE_BYTES = 512 * 1024
_DEFAULT_MAX_MESSAGE_BYTES = 5 * 1024 * 1024
# The broker's largest frame is its largest message plus 10 KiB for commands and metadata; headers of a
# message (properties) count as metadata and can exceed that.
_FRAME_ALLOWANCE = 16 * 1024 * 1024


class Listener(Protocol):
    """A consumer or producer on a connection. Called on the receiving thread; must not block."""

    def on_command(self, command: wire.BaseCommand) -> None:
        """A command addressed to this consumer or producer, such as a receipt or a close."""

    def on_entries(self) -> None:
        """Entries may be waiting for this consumer; also called when some wait for others."""

    def on_closed(self, reason: ConnectionFailed) -> None:
        """The connection is gone; nothing more will come."""


class Connection:
    """Open with `open_connection`. Safe to use from several threads."""

    def __init__(self, address: BrokerAddress, stream: socket.socket) -> None:
        self.address = address
        self.max_message_bytes = _DEFAULT_MAX_MESSAGE_BYTES
        self._stream = stream
        self._decoder = FrameDecoder(_DEFAULT_MAX_MESSAGE_BYTES + _FRAME_ALLOWANCE)
        self._lock = threading.Lock()
        self._drained = threading.Condition(self._lock)
        self._send_lock = threading.Lock()
        self._waiting: dict[int, tuple[Future[Any], str]] = {}
        self._consumers: dict[int, Listener] = {}
        self._producers: dict[int, Listener] = {}
        self._next_id = 0
        self._last_received = time.monotonic()
        self._closed: ConnectionFailed | None = None
        self._thread = threading.Thread(target=self._receive, name=f"pulsar-{address}", daemon=True)

    @property
    def is_open(self) -> bool:
        return self._closed is None

    def start(self, handshake_seconds: float) -> None:
        """Handshake, then start receiving. Raises `ConnectionFailed`, `PermissionDenied`."""
        connect = wire.CommandConnect(
            client_version=_client_version(),
            protocol_version=PROTOCOL_VERSION,
            auth_method_name="none",
            feature_flags=wire.FeatureFlags(
                supports_partial_producer=True, supports_get_partitioned_metadata_without_auto_creation=True
            ),
        )
        if self.address.proxy_to:
            connect.proxy_to_broker_url = self.address.proxy_to
        self._stream.settimeout(handshake_seconds)
        self.send_bytes(frame(wire.BaseCommand(type=CONNECT, connect=connect)))
        answer = self._first_command()
        if answer.type == ERROR:
            raise refusal(answer.error.error, answer.error.message, f"connecting to {self.address}")
        if answer.type != CONNECTED:
            raise ProtocolError(f"{self.address}: expected CONNECTED, got command type {answer.type}")
        if answer.connected.max_message_size > 0:
            self.max_message_bytes = answer.connected.max_message_size
            self._decoder = FrameDecoder(self.max_message_bytes + _FRAME_ALLOWANCE)
        self._stream.settimeout(KEEP_ALIVE_SECONDS)
        self._thread.start()

    def _first_command(self) -> wire.BaseCommand:
        while True:
            try:
                data = self._stream.recv(_RECEIVE_BYTES)
            except OSError as fault:
                raise ConnectionFailed(f"{self.address}: no answer to CONNECT: {fault}") from fault
            if not data:
                raise ConnectionFailed(
                    f"{self.address}: the server closed the connection during the handshake"
                )
            commands = self._feed(data)
            if commands:
                return wire.BaseCommand.FromString(commands[0])

    def _feed(self, data: bytes) -> list[bytes]:
        try:
            with self._lock:
                return self._decoder.feed(data)
        except KernelError as fault:
            raise ConnectionFailed(
                f"{self.address}: expected a frame of Pulsar's binary protocol: {fault.message}; "
                f"check that service.url names the broker's binary port"
            ) from fault

    # Requests

    def new_id(self) -> int:
        """An id for a request, consumer or producer; unique on this connection."""
        with self._lock:
            self._next_id += 1
            return self._next_id

    def submit(self, command: wire.BaseCommand, where: str) -> Future[Any]:
        """Send a request; the future gives the answer's own message, or the refusal as its exception.

        `where` names request and topic for error messages. The request id is filled in here.
        """
        request = getattr(command, REQUESTS[command.type])
        request.request_id = self.new_id()
        answer: Future[Any] = Future()
        with self._lock:
            if self._closed is None:
                self._waiting[request.request_id] = (answer, where)
        if self._closed is not None:
            answer.set_exception(self._closed)
            return answer
        self.send_bytes(frame(command))
        return answer

    def request(self, command: wire.BaseCommand, where: str, seconds: float) -> Any:
        """`submit` and wait. Raises what the broker refused with, or `DeadlineExceeded`."""
        return await_answer(self.submit(command, where), where, seconds)

    def send_bytes(self, data: bytes) -> None:
        """Raises `ConnectionFailed` when the connection is closed or breaks."""
        if self._closed is not None:
            raise self._closed
        try:
            with self._send_lock:
                self._stream.sendall(data)
        except OSError as fault:
            failure = ConnectionFailed(f"{self.address}: the connection broke while sending: {fault}")
            self.close(failure)
            raise failure from fault

    # Consumers and producers

    def add_consumer(self, consumer_id: int, listener: Listener) -> None:
        with self._lock:
            self._consumers[consumer_id] = listener

    def add_producer(self, producer_id: int, listener: Listener) -> None:
        with self._lock:
            self._producers[producer_id] = listener

    def remove_consumer(self, consumer_id: int) -> None:
        with self._drained:
            self._consumers.pop(consumer_id, None)
            self._decoder.drop_consumer(consumer_id)
            self._drained.notify_all()

    def remove_producer(self, producer_id: int) -> None:
        with self._lock:
            self._producers.pop(producer_id, None)

    def take_entries(self, consumer_id: int) -> EntryBatch | None:
        """Everything received for the consumer so far; None when nothing is."""
        with self._drained:
            entries = self._decoder.take_entries(consumer_id)
            if entries is not None:
                self._drained.notify_all()
            return entries

    # Receiving thread

    def _receive(self) -> None:
        try:
            while self._closed is None:
                data = self._next_bytes()
                if data:
                    self._dispatch_all(self._feed(data))
                self._pause_while_full()
        except ConnectionFailed as failure:
            self.close(failure)
        except Exception as fault:  # noqa: BLE001 -- a thread that dies must tell its waiters why
            self.close(ConnectionFailed(f"{self.address}: receiving failed: {fault!r}"))

    def _next_bytes(self) -> bytes:
        try:
            data = self._stream.recv(_RECEIVE_BYTES)
        except TimeoutError:
            if time.monotonic() - self._last_received > 2 * KEEP_ALIVE_SECONDS:
                raise ConnectionFailed(
                    f"{self.address}: the broker was silent for {2 * KEEP_ALIVE_SECONDS:.0f} s"
                ) from None
            self.send_bytes(frame(wire.BaseCommand(type=PING, ping=wire.CommandPing())))
            return b""
        except OSError as fault:
            raise ConnectionFailed(f"{self.address}: the connection broke: {fault}") from fault
        if not data:
            raise ConnectionFailed(f"{self.address}: the broker closed the connection")
        self._last_received = time.monotonic()
        return data

    def _pause_while_full(self) -> None:
        with self._drained:
            while self._closed is None and self._decoder.buffered_bytes() > MAX_BUFFERED_BYTES:
                self._drained.wait(KEEP_ALIVE_SECONDS)

    def _dispatch_all(self, commands: list[bytes]) -> None:
        for data in commands:
            self._dispatch(wire.BaseCommand.FromString(data))
        with self._lock:
            consumers = list(self._consumers.values())
        for consumer in consumers:
            consumer.on_entries()

    def _dispatch(self, command: wire.BaseCommand) -> None:
        if command.type in ANSWERS:
            answer = getattr(command, ANSWERS[command.type])
            self._resolve(answer.request_id, lambda future, _: future.set_result(answer))
        elif command.type == ERROR:
            error = command.error
            self._resolve(
                error.request_id,
                lambda future, where: future.set_exception(refusal(error.error, error.message, where)),
            )
        elif command.type == PING:
            self.send_bytes(frame(wire.BaseCommand(type=PONG, pong=wire.CommandPong())))
        else:
            listener = self._addressee(command)
            if listener is not None:
                listener.on_command(command)

    def _addressee(self, command: wire.BaseCommand) -> Listener | None:
        with self._lock:
            if command.type == SEND_RECEIPT:
                return self._producers.get(command.send_receipt.producer_id)
            if command.type == SEND_ERROR:
                return self._producers.get(command.send_error.producer_id)
            if command.type == CLOSE_PRODUCER:
                return self._producers.get(command.close_producer.producer_id)
            if command.type == CLOSE_CONSUMER:
                return self._consumers.get(command.close_consumer.consumer_id)
        return None

    def _resolve(self, request_id: int, settle: Callable[[Future[Any], str], None]) -> None:
        with self._lock:
            waiting = self._waiting.pop(request_id, None)
        if waiting is not None:
            settle(*waiting)

    def close(self, reason: ConnectionFailed | None = None) -> None:
        """Close once; later calls do nothing. Waiters get `reason`."""
        with self._drained:
            if self._closed is not None:
                return
            self._closed = reason or ConnectionFailed(f"{self.address}: the connection was closed")
            waiting = list(self._waiting.values())
            listeners = [*self._consumers.values(), *self._producers.values()]
            self._waiting.clear()
            self._drained.notify_all()
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()
        for future, _ in waiting:
            future.set_exception(self._closed)
        for listener in listeners:
            listener.on_closed(self._closed)


def await_answer(answer: Future[Any], where: str, seconds: float) -> Any:
    """The answer's message. Raises the refusal, `ConnectionFailed`, or `DeadlineExceeded`."""
    try:
        return answer.result(timeout=seconds)
    except TimeoutError:
        raise DeadlineExceeded(f"{where}: no answer from the broker within {seconds:.1f} s") from None


def open_connection(address: BrokerAddress, connect_seconds: float) -> Connection:
    """Connect and handshake. Raises `ConnectionFailed` saying where and why."""
    try:
        stream = socket.create_connection((address.host, address.port), timeout=connect_seconds)
    except OSError as fault:
        raise ConnectionFailed(
            f"cannot connect to {address}: {fault}; check that Pulsar runs there and that service.url names "
            f"its binary port (6650 by default)"
        ) from fault
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = Connection(address, stream)
    try:
        connection.start(connect_seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _client_version() -> str:
    try:
        return f"pyspark-pulsar-{version('pyspark-pulsar')}"
    except PackageNotFoundError:
        return "pyspark-pulsar"
