"""A producer on one topic partition. The producer sends frames, and receives the receipts in the same order.

    state   | activity                              | event                                           | next state
    opening | PRODUCER is sent, with the name that  | PRODUCER_SUCCESS                                | open
            | the producer already has              | a temporary failure, before the time limit      | opening
            |                                       | any other ERROR, or the time limit              | none: it raises
    open    | frames are sent, receipts arrive      | the connection ends, CLOSE_PRODUCER, a          | lost
            |                                       | temporary SEND_ERROR, a receipt out of order    |
            |                                       | any other SEND_ERROR; a receipt that does not   | failed
            |                                       | prove that the frame is stored (`NotStored`)    |
    lost    | receipts are ignored, unless          | the task's thread calls `send` or `await_below` | opening
            | `sends_again` is False                | the same call, if a frame is sent and           | none: it raises
            |                                       | `sends_again` is False                          |
    failed  | `send` and `await_below` raise the    | none                                            |
            | first failure                         |                                                 |

A frame is stored in memory until its receipt arrives (see the module `unconfirmed`). After the connection is lost, the
producer opens again and sends the unconfirmed frames again. A message can be stored twice, but is never lost
(at-least-once). After a frame has failed, all later frames are treated as not written, even if the broker has stored
them.

The connection's thread only records receipts. The task's thread sends frames, waits for receipts and opens the
producer. The lock `_changed` guards the data that the two threads share. Before the producer opens again, it closes on
the earlier connection. Closing ends when the broker answers or the connection ends. Therefore no receipt of an earlier
connection is recorded for a later frame. Brokers use the epoch of CommandProducer to replace the earlier producer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import (
    CLOSE_PRODUCER,
    PRODUCER,
    SEND_ERROR,
    SEND_RECEIPT,
)
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.connection.server_error import (
    UNKNOWN_ERROR,
    MessageRefused,
    NotReady,
    ProducerBusy,
    server_error,
)
from pyspark_pulsar.client.broker.connection.transport import SendFrames
from pyspark_pulsar.client.broker.unconfirmed import NotStored, Unconfirmed
from pyspark_pulsar.client.retries import pause_seconds
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    PulsarError,
    SendError,
    WriterFenced,
)
from pyspark_pulsar.runtime import threading, time
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

PROBE_ID: Final = 2**40
"""Id of the producer that creates the topic before a write. No other producer of the same client has this id."""

_CLOSE_SECONDS = 5.0
_WAIT_SECONDS = 0.5
_EXCLUSIVE_WITH_FENCING = 3
_NOWHERE = 2**64 - 1
"""Ledger id -1, unsigned. Receipts contain this id if deduplication has rejected the message."""
_NON_PERSISTENT: Final = "non-persistent://"


class Producer:
    """A producer that one thread of a task uses. Receipts arrive on the connection's thread."""

    def __init__(
        self,
        client: BrokerClient,
        topic: str,
        producer_id: int,
        info: SchemaInfo | None,
        timeout_seconds: float,
        *,
        encrypted: bool = False,
        exclusive: bool = False,
        sends_again: bool = True,
        transactional: bool = False,
        before_sending: Callable[[], None] | None = None,
        keep_for: str | None = None,
        name: str | None = None,
        on_stored: Callable[[int, tuple[int, int] | None], None] | None = None,
    ) -> None:
        """Store the arguments, without connecting.

        Args:
            client: The client whose connections the producer uses.
            topic: The topic partition.
            producer_id: An id that no other producer of `client` has, on any of its connections.
            info: The schema of the messages, or None if the messages are bytes without a schema.
            timeout_seconds: Maximum time in seconds for which the oldest frame can be unconfirmed.
            encrypted: Whether the producer encrypts its messages. Some namespaces accept only such producers.
            exclusive: Whether to fence all other producers of the topic. If another client fences the topic later, this
                producer fails with `WriterFenced`.
            sends_again: Whether to send unconfirmed frames again after a lost connection. If False, the producer fails
                instead, so that no message is stored twice.
            transactional: Whether to send messages in transactions. With transactions, the producer sends only one
                frame at first, and waits for its receipt. The reason is that a broker refuses transactional messages
                for a moment after it has loaded a topic.
            before_sending: A function that is called before frames are sent. If the function raises an error, the
                frames are not sent.
            keep_for: The name of a durable subscription, which the broker creates if the subscription is missing. The
                topic retains messages until this subscription acknowledges the messages.
            name: The producer name that the user chose; None lets the broker choose a name. A user who chooses the name
                also chooses the sequence ids. The broker can already know sequence ids from earlier producers of this
                name.
            on_stored: A function that is called for each stored frame, in order. The first argument is the sequence id.
                The second argument is the ledger id and entry id, or None if the broker does not report the ids. The
                connection's thread calls the function, so the function must not block.

        """
        self.topic = topic
        self.producer_id = producer_id
        self.name = name or ""
        self.known_already = 0
        """Number of entries that the broker did not store, because their sequence ids had been used before."""
        self.schema_version: bytes | None = None
        self.max_message_bytes = 0
        self._client = client
        self._info = info
        self._encrypted = encrypted
        self._timeout_seconds = timeout_seconds
        self._exclusive = exclusive
        self._sends_again = sends_again
        self._transactional = transactional
        self._keep_for = keep_for
        self._named = name is not None
        self._on_stored = on_stored
        # The topic's name is not parsed, because brokers have topics whose names this package rejects.
        self._is_persistent = not topic.startswith(_NON_PERSISTENT)
        self._topic_epoch: int | None = None
        self._epoch = 0
        self._connection: Connection | None = None
        self._changed = threading.Condition()
        self._unconfirmed = Unconfirmed(sends_again=sends_again, first_alone=transactional)
        self._before_sending = before_sending
        self._failures = 0
        """Number of temporary failures since the last receipt."""
        self._lost: ConnectionFailed | None = None
        self._failure: PulsarError | None = None

    def open(self) -> None:
        """Open the producer on the broker, and retry temporary failures.

        Raises:
            SchemaError: The broker refuses the schema.
            PermissionDenied: The role is not allowed to write to the topic.
            TopicNotFoundError: The topic does not exist.

        """
        self._client.retrying(self._open_once)

    def _open_once(self) -> Connection:
        connection = self._client.owner_connection(self.topic)
        connection.add_producer(self.producer_id, self)
        request = wire.CommandProducer(
            topic=self.topic,
            producer_id=self.producer_id,
            request_id=0,
            epoch=self._epoch,
            user_provided_producer_name=self._named,
            encrypted=self._encrypted,
            schema=_wire_schema(self._info),
        )
        if self.name:
            request.producer_name = self.name
        if self._transactional:
            request.txn_enabled = True
        if self._keep_for is not None:
            request.initial_subscription_name = self._keep_for
        if self._exclusive:
            request.producer_access_mode = _EXCLUSIVE_WITH_FENCING
            if self._topic_epoch is not None:
                # The epoch makes the broker refuse this producer if another producer has fenced the topic in the
                # meantime.
                request.topic_epoch = self._topic_epoch
        command = wire.BaseCommand(type=PRODUCER, producer=request)
        with self._changed:
            self._lost = None
        try:
            seconds = self._client.seconds_left(self._client.request_seconds)
            answer = self._request_open(connection, command, seconds)
        except BaseException as fault:
            connection.remove_producer(self.producer_id)
            if isinstance(fault, DeadlineExceeded) or not isinstance(fault, PulsarError):
                # The broker can open the producer later, or has opened the producer while this thread was interrupted.
                with contextlib.suppress(ConnectionFailed):
                    connection.submit(*self._closing())
            self._client.forget_owner(self.topic)
            raise
        self.name = answer.producer_name
        self.schema_version = answer.schema_version or None
        self._topic_epoch = answer.topic_epoch if answer.HasField("topic_epoch") else None
        self.max_message_bytes = connection.max_message_bytes
        self._epoch += 1
        self._connection = connection
        return connection

    def _request_open(self, connection: Connection, command: wire.BaseCommand, seconds: float) -> Any:
        try:
            return connection.request(command, f"opening a producer on {self.topic}", seconds)
        except ProducerBusy as busy:
            if not self.name:
                raise
            # The other producer of this name can belong to an earlier connection of this producer, or to an earlier
            # attempt of the task. Brokers need a moment to detect a broken connection.
            raise NotReady(
                f"{busy}; if pulsar.producer.producerName is set, stop the other producer of this name, or set another "
                f"name"
            ) from busy

    # Methods of `Listener`, for the connection's receiving thread

    def on_command(self, command: wire.BaseCommand) -> None:
        if command.type == SEND_RECEIPT:
            receipt = command.send_receipt
            where = receipt.message_id
            stored = where.ledgerId != _NOWHERE
            if self._confirm(receipt.sequence_id, stored=stored) and self._on_stored is not None:
                self._on_stored(receipt.sequence_id, (where.ledgerId, where.entryId) if stored else None)
        elif command.type == SEND_ERROR:
            error = command.send_error
            failure = server_error(error.error, error.message, f"sending to {self.topic}")
            if isinstance(failure, NotReady):
                if isinstance(failure, MessageRefused):
                    with self._changed:
                        self._unconfirmed.refuse(error.sequence_id)
                self.on_closed(failure)
            elif error.error == UNKNOWN_ERROR:
                # One reason for this error is a repeated message that the broker received earlier, but has not stored
                # yet.
                self.on_closed(ConnectionFailed(str(failure)))
            else:
                self._fail(failure)
        elif command.type == CLOSE_PRODUCER:
            self.on_closed(
                ConnectionFailed(
                    f"{self.topic}: the broker closed the producer, usually because the topic is moving to another "
                    f"broker"
                )
            )

    def on_entries(self) -> None:
        """Do nothing, because producers receive no entries."""

    def on_closed(self, reason: ConnectionFailed) -> None:
        with self._changed:
            self._lost = reason
            self._changed.notify_all()

    def _confirm(self, sequence_id: int, *, stored: bool) -> bool:
        """Record a receipt. Return whether this receipt is the first receipt of its frame."""
        with self._changed:
            if not self._unconfirmed or (self._lost is not None and self._sends_again):
                return False  # All unconfirmed frames will be sent again.
            is_oldest = sequence_id == self._unconfirmed.oldest_id
            # If the user chooses the sequence ids, a known id means that the user has written the message before.
            known_already = self._named and not stored and sequence_id == self._unconfirmed.oldest_id
            self.known_already += known_already
            # A non-persistent topic stores no message. For a dropped message, the broker sends a receipt without a
            # position.
            settled = stored or known_already or not self._is_persistent
            try:
                fault = self._unconfirmed.confirm(sequence_id, time.monotonic(), stored=settled)
            except NotStored:
                self._fail(self._not_stored(sequence_id))
                return False
            self._failures = 0
            if fault is not None:
                self._lost = ConnectionFailed(f"{self.topic}: {fault}")
            self._changed.notify_all()
            return is_oldest and fault is None

    def _not_stored(self, sequence_id: int) -> SendError:
        return SendError(
            f"{self.topic}: expected the broker to store message {sequence_id} of producer {self.name}, got the answer "
            f"that the message is a duplicate. The message was not sent earlier, so neither this message nor a later "
            f"message counts as written; stop other producers of this name, or check the topic's deduplication state"
        )

    def _fail(self, failure: PulsarError) -> None:
        if not isinstance(failure, SendError | WriterFenced):
            failure = SendError(f"{failure}; no later message counts as written")
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    # Methods for the task's thread

    def send(self, frames: SendFrames) -> None:
        """Send frames without waiting for their receipts.

        A chunked message is the exception: the call waits until the broker has confirmed all chunks except the last
        chunk. In a transaction, later calls of `send` and `await_below` send the frames that wait for the receipt of
        the producer's first frame.

        Raises:
            SendError: The broker has refused a frame.
            DeadlineExceeded: The oldest frame has been unconfirmed for longer than the timeout.

        """
        with self._changed:
            self._raise_failure()
            is_lost_idle = self._lost is not None and not self._unconfirmed
        if is_lost_idle:
            # Recover before adding the frames. No frame is unconfirmed now, so no message can be stored twice.
            self._recover()
        with self._changed:
            self._raise_failure()
            self._unconfirmed.add(frames, time.monotonic())
        self._send_all(waits_for_first=False)

    def await_below(self, most_bytes: int) -> None:
        """Wait until fewer than `most_bytes` bytes of frames are unconfirmed.

        Args:
            most_bytes: The limit in bytes; 0 waits until no frame is unconfirmed.

        Raises:
            SendError: The broker has refused a frame.
            DeadlineExceeded: The oldest frame has been unconfirmed for longer than the timeout.

        """
        while True:
            self._send_all()
            with self._changed:
                self._raise_failure()
                if not self._unconfirmed or self._unconfirmed.nbytes < most_bytes:
                    return
                self._check_deadline()
                if self._lost is None:
                    self._changed.wait(_WAIT_SECONDS)
                lost = self._lost is not None
            if lost:
                self._recover()

    def keep_going(self) -> None:
        """Send unconfirmed frames again if the connection is lost, without waiting for receipts.

        Callers that learn about receipts only from `on_stored` must call this method regularly. This method raises the
        errors of `await_below`.
        """
        with self._changed:
            self._raise_failure()
            if not self._unconfirmed:
                return
            self._check_deadline()
            lost = self._lost is not None
        if lost:
            self._recover()
            self._send_all()

    @property
    def topic_epoch(self) -> int | None:
        """Return the number of times that exclusive producers have fenced the topic.

        The broker stores this number with the topic. The number is None before `open`, or if no producer has fenced the
        topic.
        """
        return self._topic_epoch

    def _send_all(self, *, waits_for_first: bool = True) -> None:
        """Send the frames that have not been sent on the current connection.

        Args:
            waits_for_first: Whether to wait for the receipt of the first frame, if further frames cannot be sent before
                this receipt arrives.

        """
        while True:
            with self._changed:
                self._raise_failure()
                if self._unconfirmed.is_all_sent:
                    return
                if self._unconfirmed.waits_for_first and self._lost is None and not waits_for_first:
                    return
                self._check_deadline()
                if self._before_sending is not None:
                    self._before_sending()
                connection = self._connection if self._lost is None else None
                part = None if connection is None else self._unconfirmed.take(time.monotonic())
                if connection is not None and part is None:
                    self._changed.wait(_WAIT_SECONDS)
                    continue
            if connection is None or part is None:
                self._recover()
                continue
            try:
                connection.send_bytes(part)
            except ConnectionFailed as lost:
                self.on_closed(lost)

    def _recover(self) -> None:
        self._client.forget_owner(self.topic)
        # The producer can still be open on the broker, on a connection that other callers also use. The broker's answer
        # arrives after the receipts and refusals of all sent frames.
        self.close()
        with self._changed:
            if self._unconfirmed.sent and not self._sends_again:
                raise SendError(
                    f"{self.topic}: expected a receipt for every message, got no receipt for some messages "
                    f"({self._lost}). Sending these messages again could store them twice, so this attempt ends, and "
                    f"none of its messages counts as written; run the write again, or let Spark retry tasks "
                    f"(spark.task.maxFailures)"
                )
            oldest = self._unconfirmed.oldest_since if self._unconfirmed else time.monotonic()
            is_refused = isinstance(self._lost, NotReady)
        patience = max(0.1, oldest + self._timeout_seconds - time.monotonic())
        if is_refused:
            # Opening the producer can succeed although the broker refuses its messages.
            self._failures += 1
            time.sleep(self._client.seconds_left(min(pause_seconds(self._failures), patience)))
        try:
            with self._client.until(time.monotonic() + patience):
                self._client.retrying(self._open_once, patience)
        except ConnectionFailed as failure:
            raise SendError(
                f"{self.topic}: expected all messages to be confirmed within {self._timeout_seconds:.0f} s, but "
                f"opening the producer again failed ({failure}); no unconfirmed message counts as written"
            ) from failure
        with self._changed:
            self._unconfirmed.prepare_resend()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _check_deadline(self) -> None:
        waited = time.monotonic() - self._unconfirmed.oldest_since
        if waited > self._timeout_seconds:
            raise DeadlineExceeded(
                f"{self.topic}: expected a receipt within {self._timeout_seconds:.0f} s, got no receipt of message "
                f"{self._unconfirmed.oldest_id}; if the broker is slow, raise pulsar.producer.sendTimeoutMs"
            )

    def close(self) -> None:
        """Close the producer, so that no receipt arrives later.

        Failures are ignored. If the broker does not answer in time, the connection is closed too.
        """
        connection = self._connection
        try:
            self._close()
        except DeadlineExceeded as silence:
            if connection is not None:
                connection.close(ConnectionFailed(str(silence)))
        except PulsarError:
            pass  # Even if the broker refuses, its answer arrives after all receipts.

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if connection.is_open:
                connection.request(*self._closing(), _CLOSE_SECONDS)
        finally:
            connection.remove_producer(self.producer_id)

    def _closing(self) -> tuple[wire.BaseCommand, str]:
        """Return the request that closes the producer, and a description of the request for error messages."""
        request = wire.CommandCloseProducer(producer_id=self.producer_id, request_id=0)
        command = wire.BaseCommand(type=CLOSE_PRODUCER, close_producer=request)
        return command, f"closing the producer of {self.topic}"


def _wire_schema(info: SchemaInfo | None) -> wire.Schema | None:
    if info is None or info.type in (SchemaType.NONE, SchemaType.BYTES):
        return None
    return wire.Schema(
        name=info.name,
        schema_data=info.document,
        type=info.type.wire_number,
        properties=[wire.KeyValue(key=key, value=value) for key, value in info.properties],
    )
