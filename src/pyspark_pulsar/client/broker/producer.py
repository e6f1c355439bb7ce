"""A producer on one topic partition: frames out, receipts in, in the same order.

    state   | activity                              | event                                           | next state
    opening | PRODUCER is sent, with its earlier    | PRODUCER_SUCCESS                                | open
            | name if it has one                    | a temporary failure, before the time limit      | opening
            |                                       | any other ERROR, or the time limit              | none: it raises
    open    | frames go out, receipts arrive        | the connection ends, CLOSE_PRODUCER, a          | lost
            |                                       | temporary SEND_ERROR, a receipt out of order    |
            |                                       | any other SEND_ERROR; a receipt that proves     | failed
            |                                       | nothing (`NotStored`)                           |
    lost    | no receipt counts                     | the task's thread notices it, in `send` or      | opening
            |                                       | `await_below`; without `sends_again` it raises  |
            |                                       | if a frame is unconfirmed                       |
    failed  | `send` and `await_below` raise the    | none                                            |
            | first failure                         |                                                 |

A frame is kept until its receipt arrives (`unconfirmed`). After a producer is lost, the next one sends the unconfirmed
frames again: a message may be stored twice, but is never lost (at-least-once). After a frame has failed, all later
frames count as not written, even if they are stored.

The connection's thread only records receipts. The task's thread sends, waits and opens. `_changed` guards the data of
both. Before a producer opens again, the earlier one is closed, and then its answer arrives or its connection ends. So
no receipt counts for the wrong producer. The epoch of CommandProducer lets brokers replace the earlier producer.
"""

from __future__ import annotations

import contextlib
import threading
import time
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
    NotReady,
    ProducerBusy,
    server_error,
)
from pyspark_pulsar.client.broker.connection.transport import SendFrames
from pyspark_pulsar.client.broker.unconfirmed import NotStored, Unconfirmed
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    PulsarError,
    SendError,
    WriterFenced,
)
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

PROBE_ID: Final = 2**40
"""Id of the producer that settles a topic. No other producer of its client has this id."""

_CLOSE_SECONDS = 5.0
_WAIT_SECONDS = 0.5
_EXCLUSIVE_WITH_FENCING = 3
_NOWHERE = 2**64 - 1
"""The ledger id -1 in a receipt for a message that deduplication has not stored."""
_NON_PERSISTENT: Final = "non-persistent://"


class Producer:
    """A producer that one task thread uses. Receipts arrive on the connection's thread."""

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
        keep_for: str | None = None,
        name: str | None = None,
        on_stored: Callable[[int, tuple[int, int] | None], None] | None = None,
    ) -> None:
        """Store the arguments, without connecting.

        Args:
            client: The client.
            topic: The topic partition.
            producer_id: An id that is unique among the producers of `client`, over all its connections.
            info: The schema of the messages, or None if they are bytes.
            timeout_seconds: How long the oldest frame may be unconfirmed.
            encrypted: Announce encrypted messages, which namespaces may require.
            exclusive: Fence all other producers of the topic. If another client later does the same, this producer
                fails with `WriterFenced`.
            sends_again: If False, the producer fails when a receipt may be lost, so that no message is stored twice.
            transactional: Send messages in transactions.
            keep_for: A durable subscription for which the topic keeps its messages.
            name: The user's name for the producer; sequence ids are then the user's too, and the broker may know them
                from earlier producers with this name. By default, the broker chooses a name.
            on_stored: Called for each stored frame, in order, with its sequence id, and with its ledger id and entry
                id if the broker reports them. Runs on the connection's thread and must not block.

        """
        self.topic = topic
        self.producer_id = producer_id
        self.name = name or ""
        self.known_already = 0
        """Number of entries that the broker did not store, because an earlier producer used their sequence ids."""
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
        # The name is not parsed, because brokers have topics whose names this package refuses.
        self._is_persistent = not topic.startswith(_NON_PERSISTENT)
        self._topic_epoch: int | None = None
        self._epoch = 0
        self._connection: Connection | None = None
        self._changed = threading.Condition()
        self._unconfirmed = Unconfirmed(sends_again=sends_again)
        self._lost: ConnectionFailed | None = None
        self._failure: PulsarError | None = None

    def open(self) -> None:
        """Open the producer.

        Raises:
            SchemaError: The broker refuses the schema.
            PermissionDenied: The role may not write to the topic.
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
                # With the epoch, the broker refuses this producer if another one has fenced it since.
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
                # The broker may still open the producer, or has opened it while this thread was interrupted.
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
            # The other producer of this name may be an earlier connection of this one, or an earlier attempt. Brokers
            # need a moment to detect a broken connection.
            raise NotReady(f"{busy}; producer names must be unique in a topic") from busy

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
                self.on_closed(failure)
            elif error.error == UNKNOWN_ERROR:
                # One reason is a possible duplicate whose first sending the broker has not stored yet.
                self.on_closed(ConnectionFailed(str(failure)))
            else:
                self._fail(failure)
        elif command.type == CLOSE_PRODUCER:
            self.on_closed(ConnectionFailed(f"{self.topic}: the broker closed the producer; the topic moves"))

    def on_entries(self) -> None:
        """Do nothing, because producers receive no entries."""

    def on_closed(self, reason: ConnectionFailed) -> None:
        with self._changed:
            self._lost = reason
            self._changed.notify_all()

    def _confirm(self, sequence_id: int, *, stored: bool) -> bool:
        """Record a receipt. Return whether it is the first one for its frame."""
        with self._changed:
            if self._lost is not None or not self._unconfirmed:
                return False  # All unconfirmed frames will be sent again.
            is_oldest = sequence_id == self._unconfirmed.oldest_id
            # With sequence ids of the user, a known id means that the user has written the message before.
            known_already = self._named and not stored and sequence_id == self._unconfirmed.oldest_id
            self.known_already += known_already
            # A non-persistent topic stores nothing, and reports this for messages that it drops.
            settled = stored or known_already or not self._is_persistent
            try:
                fault = self._unconfirmed.confirm(sequence_id, time.monotonic(), stored=settled)
            except NotStored:
                self._fail(self._not_stored(sequence_id))
                return False
            if fault is not None:
                self._lost = ConnectionFailed(f"{self.topic}: {fault}")
            self._changed.notify_all()
            return is_oldest and fault is None

    def _not_stored(self, sequence_id: int) -> SendError:
        return SendError(
            f"{self.topic}: expected the broker to store message {sequence_id} of producer {self.name}, got the answer "
            f"that it is a duplicate, although it was not sent before; no later message counts as written; check "
            f"whether another producer uses the name, or the broker's sequence ids are outdated"
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

        Only the last chunk of a chunked message waits, until the broker has confirmed the other chunks.

        Raises:
            SendError: The broker has refused a frame.
            DeadlineExceeded: The oldest frame is unconfirmed for longer than the timeout.

        """
        with self._changed:
            self._raise_failure()
            is_lost_idle = self._lost is not None and not self._unconfirmed
        if is_lost_idle:
            # Recover before adding the frames: without unconfirmed frames, no message can be stored twice.
            self._recover()
        with self._changed:
            self._raise_failure()
            self._unconfirmed.add(frames, time.monotonic())
        self._send_all()

    def await_below(self, most_bytes: int) -> None:
        """Wait until fewer than `most_bytes` are unconfirmed, or no frame is unconfirmed if `most_bytes` is 0.

        Raises:
            SendError: The broker has refused a frame.
            DeadlineExceeded: The oldest frame is unconfirmed for longer than the timeout.

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

        Callers that wait by `on_stored` call this regularly. It raises the errors of `await_below`.
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
        """Return how often exclusive producers have fenced the topic, a number that the broker stores with the topic.

        None means never, or before `open`.
        """
        return self._topic_epoch

    def _send_all(self) -> None:
        """Send the frames that were not sent on the current connection yet."""
        while True:
            with self._changed:
                self._raise_failure()
                if self._unconfirmed.is_all_sent:
                    return
                self._check_deadline()
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
        with self._changed:
            oldest = self._unconfirmed.oldest_since if self._unconfirmed else time.monotonic()
        if not self._sends_again:
            with self._changed:
                if self._unconfirmed:
                    raise SendError(
                        f"{self.topic}: expected a receipt for every message, but the connection or the topic was lost "
                        f"({self._lost}) before all receipts arrived; a repetition could store messages twice, so "
                        f"this attempt ends and none of its messages counts as written"
                    )
        patience = max(0.1, oldest + self._timeout_seconds - time.monotonic())
        self._client.forget_owner(self.topic)
        # The broker may still have the producer, on a connection that is otherwise usable.
        self.close()
        try:
            with self._client.until(time.monotonic() + patience):
                self._client.retrying(self._open_once, patience)
        except ConnectionFailed as failure:
            raise SendError(
                f"{self.topic}: expected all messages to be confirmed within {self._timeout_seconds:.0f} s, got no "
                f"producer to send them again ({failure}); no unconfirmed message counts as written"
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
                f"{self._unconfirmed.oldest_id}; raise pulsar.producer.sendTimeoutMs if the broker is slow"
            )

    def close(self) -> None:
        """Close the producer, so that no receipt arrives later. Never raise if it is gone already.

        If the broker does not answer in time, the connection is closed too.
        """
        connection = self._connection
        try:
            self._close()
        except DeadlineExceeded as silence:
            if connection is not None:
                connection.close(ConnectionFailed(str(silence)))
        except PulsarError:
            pass  # Any other answer of the broker also arrives after all receipts.

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.remove_producer(self.producer_id)
        if not connection.is_open:
            return
        connection.request(*self._closing(), _CLOSE_SECONDS)

    def _closing(self) -> tuple[wire.BaseCommand, str]:
        """Return the request that closes the producer, and its name in errors."""
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
