"""A connection to one broker: keep-alive, and delivery of each answer to the caller that sent the request.

Two kinds of threads use a connection. The connection's own thread receives, and each caller sends on the caller's
thread. Requests have ids, and a caller can send several requests before the first answer arrives. Therefore `submit`
returns a future immediately.

    state      | activity                                     | event                           | next state
    handshake  | `open_connection`, on the caller's thread    | CONNECTED                       | open
               |                                              | ERROR, timeout, end of stream   | none: it raises
    open       | the connection's thread receives             | over 32 MiB wait for consumers  | paused
               |                                              | 60 s without input, end of      | closed
               |                                              | stream, failed send, `close`    |
    paused     | nothing is received, so TCP slows the broker | consumers have taken entries    | open
               | down; a PING each second keeps it alive      | failed send, `close`            | closed
    closed     | none; the connection never opens again       |                                 |

    input                                    | receiver
    the answer to a request (`ANSWERS`)      | the future of that request id; its result is the inner message
    ERROR                                    | the future of that request id; its exception is from `server_error`
    SEND_RECEIPT, SEND_ERROR, CLOSE_PRODUCER | the producer of that id, by `on_command`
    CLOSE_CONSUMER                           | the consumer of that id, by `on_command`
    MESSAGE                                  | the kernel, until its consumer takes it; all consumers wake up
    PING                                     | answered with PONG
    AUTH_CHALLENGE                           | answered on a separate thread, because renewing a token may be slow
    anything else, or an unknown id          | ignored

No caller waits forever, because `close` and `submit` use the same lock. When the connection closes, all requests
without an answer fail with the reason of the close. Later requests fail immediately with that reason. Producers and
consumers receive the reason by `on_closed`. If the broker never answers a request, the deadline of `await_answer` ends
the wait.

While the connection is paused, no answer arrives (`is_full`). Therefore a caller that waits for an answer must collect
the entries that wait for consumers.

The connection sends PING if it has received nothing for 30 s. A broker closes a connection without input after two of
the broker's own keep-alive intervals.

Protocol: the binary protocol specification, section "Keep Alive".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pyspark_pulsar.client.broker.connection.commands import (
    ANSWERS,
    AUTH_CHALLENGE,
    CLOSE_CONSUMER,
    CLOSE_PRODUCER,
    ERROR,
    PING,
    PONG,
    REQUESTS,
    SEND_ERROR,
    SEND_RECEIPT,
    frame,
    id_field,
)
from pyspark_pulsar.client.broker.connection.handshake import BrokerLimits, auth_response, shake_hands
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.broker.connection.transport import (
    EntryBatch as EntryBatch,  # noqa: PLC0414 -- the result of `take_entries`, importable from here
    Transport,
    open_transport,
)
from pyspark_pulsar.client.security.context import Security
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.client.time_limit import within
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, DeadlineExceeded, PulsarError
from pyspark_pulsar.runtime import Future, threading, time

KEEP_ALIVE_SECONDS = 30.0
# A paused connection does not read the broker's pings, so the connection cannot answer the pings. A broker closes a
# connection after two of the broker's keep-alive intervals (30 s by default) without input.
PAUSED_PING_SECONDS = 1.0
_LEAST_SECONDS = 0.05


class Listener(Protocol):
    """A consumer or producer on a connection. The receiving thread calls the methods, which must not block."""

    def on_command(self, command: wire.BaseCommand) -> None:
        """Handle a command to this consumer or producer, such as a receipt or a close."""

    def on_entries(self) -> None:
        """Check for entries of this consumer. This method is called for entries of any consumer on the connection."""

    def on_closed(self, reason: ConnectionFailed) -> None:
        """Handle the end of the connection. The connection calls no method of this listener afterwards."""


class Connection:
    """An open connection to a broker, which `open_connection` returns. Several threads can share a connection."""

    def __init__(self, transport: Transport, limits: BrokerLimits, security: Security) -> None:
        self.address = transport.address
        self._security = security
        self.max_message_bytes = limits.max_message_bytes
        self.knows_scalable_topics = limits.knows_scalable_topics
        self._transport = transport
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[Future[Any], str]] = {}
        self._consumers: dict[int, Listener] = {}
        self._producers: dict[int, Listener] = {}
        self._next_id = 0
        self._last_received = time.monotonic()
        self._closed: ConnectionFailed | None = None
        self._thread = threading.Thread(target=self._receive, name=f"pulsar-{self.address}", daemon=True)

    @property
    def is_open(self) -> bool:
        return self._closed is None

    @property
    def is_used(self) -> bool:
        """Return whether a consumer or producer uses the connection. Requests without an answer are ignored."""
        with self._lock:
            return bool(self._consumers or self._producers)

    def start(self) -> None:
        """Start the thread that receives. Call this method once, after the handshake."""
        self._transport.wait_at_most(KEEP_ALIVE_SECONDS)
        self._thread.start()

    # Requests

    def new_id(self) -> int:
        """Return a new id for a request, consumer or producer. The id is unique on this connection."""
        with self._lock:
            self._next_id += 1
            return self._next_id

    def submit(self, command: wire.BaseCommand, where: str) -> Future[Any]:
        """Send a request.

        Args:
            command: The request. This method sets the request id of the command.
            where: A description of the request and its topic, for error messages.

        Returns:
            A future. The result of the future is the inner message of the answer. The exception is the broker's
            refusal.

        """
        return self.submit_all([(command, where)])[0]

    def submit_all(self, requests: Sequence[tuple[wire.BaseCommand, str]]) -> list[Future[Any]]:
        """Send several requests with a single write to the socket, and return a future for each, as `submit` does."""
        answers: list[Future[Any]] = [Future() for _ in requests]
        for command, _ in requests:
            setattr(getattr(command, REQUESTS[command.type]), id_field(command.type), self.new_id())
        with self._lock:
            closed = self._closed
            if closed is None:
                for (command, where), answer in zip(requests, answers, strict=True):
                    self._waiting[_id_of(command, REQUESTS)] = (answer, where)
        if closed is not None:
            for answer in answers:
                answer.set_exception(closed)
            return answers
        self.send_bytes(b"".join(frame(command) for command, _ in requests))
        return answers

    def request(self, command: wire.BaseCommand, where: str, seconds: float) -> Any:
        """Send a request and wait for its answer. Raise the broker's refusal, or `DeadlineExceeded`."""
        answer = self.submit(command, where)
        try:
            return await_answer(answer, where, seconds)
        except DeadlineExceeded:
            # Without the removal, requests without an answer would accumulate, because a connection can be open for
            # months.
            with self._lock:
                self._waiting.pop(_id_of(command, REQUESTS), None)
            raise

    def send_bytes(self, data: bytes | memoryview) -> None:
        """Send bytes. Raise `ConnectionFailed` if the connection is closed or breaks."""
        if self._closed is not None:
            raise self._closed
        try:
            self._transport.send(data)
        except OSError as fault:
            failure = ConnectionFailed(f"{self.address}: the connection broke while sending: {fault}")
            self.close(failure)
            raise failure from fault

    # Consumers and producers

    def add_consumer(self, consumer_id: int, listener: Listener) -> None:
        self._transport.add_consumer(consumer_id)
        with self._lock:
            self._consumers[consumer_id] = listener

    def add_producer(self, producer_id: int, listener: Listener) -> None:
        with self._lock:
            self._producers[producer_id] = listener

    def remove_consumer(self, consumer_id: int) -> None:
        with self._lock:
            self._consumers.pop(consumer_id, None)
        self._transport.drop_consumer(consumer_id)

    def remove_producer(self, producer_id: int) -> None:
        with self._lock:
            self._producers.pop(producer_id, None)

    def take_entries(self, consumer_id: int) -> EntryBatch | None:
        """Remove and return all entries received for the consumer, or None if there are none."""
        return self._transport.take_entries(consumer_id)

    @property
    def is_full(self) -> bool:
        """Return whether the connection is paused. No answer arrives on a paused connection."""
        return not self._transport.has_room()

    def first_entry(self, consumer_id: int) -> tuple[int, int] | None:
        """Return the ledger id and entry id of the consumer's first waiting entry, or None if no entry waits."""
        return self._transport.first_entry(consumer_id)

    # Receiving thread

    def _receive(self) -> None:
        try:
            while self._closed is None:
                data = self._next_bytes()
                if data:
                    self._dispatch_all(self._transport.commands(data))
                self._pause_while_full()
        except ConnectionFailed as failure:
            self.close(failure)
        except Exception as fault:  # noqa: BLE001 -- a thread that ends must report the reason to waiting callers
            self.close(ConnectionFailed(f"{self.address}: receiving failed: {fault!r}"))

    def _pause_while_full(self) -> None:
        """Stop receiving while consumers are slow, so that TCP slows the broker down. Send pings each second."""
        if self._transport.has_room():
            return
        while not self._transport.has_room(PAUSED_PING_SECONDS):
            self._ping()
        self._last_received = time.monotonic()

    def _ping(self) -> None:
        self.send_bytes(frame(wire.BaseCommand(type=PING, ping=wire.CommandPing())))

    def _next_bytes(self) -> bytes:
        try:
            data = self._transport.receive()
        except TimeoutError:
            if time.monotonic() - self._last_received > 2 * KEEP_ALIVE_SECONDS:
                raise ConnectionFailed(
                    f"{self.address}: the broker was silent for {2 * KEEP_ALIVE_SECONDS:.0f} s"
                ) from None
            self._ping()
            return b""
        except OSError as fault:
            raise ConnectionFailed(f"{self.address}: the connection broke: {fault}") from fault
        if not data:
            raise ConnectionFailed(f"{self.address}: the broker closed the connection")
        self._last_received = time.monotonic()
        return data

    def _dispatch_all(self, commands: list[bytes]) -> None:
        for data in commands:
            self._dispatch(wire.BaseCommand.FromString(data))
        # Skip the loop if no entries wait. Thousands of consumers can exist only to request log ends, and these
        # consumers never receive entries.
        if not self._transport.has_entries():
            return
        with self._lock:
            consumers = list(self._consumers.values())
        for consumer in consumers:
            consumer.on_entries()

    def _dispatch(self, command: wire.BaseCommand) -> None:
        if command.type in ANSWERS:
            answer = getattr(command, ANSWERS[command.type])
            self._resolve(_id_of(command, ANSWERS), lambda future, _: future.set_result(answer))
        elif command.type == ERROR:
            error = command.error
            self._resolve(
                error.request_id,
                lambda future, where: future.set_exception(server_error(error.error, error.message, where)),
            )
        elif command.type == PING:
            self.send_bytes(frame(wire.BaseCommand(type=PONG, pong=wire.CommandPong())))
        elif command.type == AUTH_CHALLENGE:
            # Renewing a token can be slow, so another thread answers.
            threading.Thread(
                target=self._reauthenticate, name=f"{self._thread.name}-auth", daemon=True
            ).start()
        else:
            listener = self._addressee(command)
            if listener is not None:
                listener.on_command(command)

    def _reauthenticate(self) -> None:
        """Send new credentials to the broker, because the present credentials have expired or expire soon."""
        try:
            self.send_bytes(frame(auth_response(self._security.credentials, KEEP_ALIVE_SECONDS)))
        except PulsarError as fault:
            self.close(
                ConnectionFailed(f"{self.address}: renewing the credentials for the broker failed: {fault}")
            )

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
        """Close the connection. Callers that wait for an answer get `reason` as the error.

        A second call does nothing.
        """
        with self._lock:
            if self._closed is not None:
                return
            self._closed = reason or ConnectionFailed(f"{self.address}: the connection was closed")
            waiting = list(self._waiting.values())
            listeners = [*self._consumers.values(), *self._producers.values()]
            self._waiting.clear()
        self._transport.close()
        for future, _ in waiting:
            future.set_exception(self._closed)
        for listener in listeners:
            listener.on_closed(self._closed)


def _id_of(command: wire.BaseCommand, names: Mapping[int, str]) -> int:
    return int(getattr(getattr(command, names[command.type]), id_field(command.type)))


def await_answer(answer: Future[Any], where: str, seconds: float) -> Any:
    """Wait for an answer and return its message.

    Raises:
        DeadlineExceeded: No answer arrived within `seconds`.
        PulsarError: The exception of the future: the broker's refusal, or `ConnectionFailed`.

    """
    try:
        return answer.result(timeout=seconds)
    except TimeoutError:
        raise DeadlineExceeded(f"{where}: no answer from the broker within {seconds:.1f} s") from None


def open_connection(address: BrokerAddress, connect_seconds: float, security: Security) -> Connection:
    """Read the credentials, connect to a broker, and start receiving.

    Args:
        address: The address of the broker.
        connect_seconds: The time limit for all steps together, in seconds.
        security: TLS and authentication settings.

    Raises:
        ConnectionFailed: The broker is unreachable. The message contains the address and the reason.
        TlsFailed: The TLS handshake failed, and a retry would not help.
        PermissionDenied: The broker refuses the credentials.
        OptionError: A file with TLS settings or credentials is unusable.
        ProtocolError: The answer is not part of the protocol.

    """
    deadline = time.monotonic() + connect_seconds
    # Read the credentials before the connection exists, because a broker waits only briefly for CONNECT.
    data, context = within(
        connect_seconds,
        lambda: (security.credentials.data(), None if security.tls is None else security.tls.context()),
        f"connecting to {address}: reading the credentials of pulsar.client.authParams and the files of TLS",
    )
    transport = open_transport(address, max(_LEAST_SECONDS, deadline - time.monotonic()), security, context)
    try:
        limits = shake_hands(transport, deadline, security.credentials, data)
        connection = Connection(transport, limits, security)
        connection.start()
    except BaseException:
        transport.close()
        raise
    return connection
