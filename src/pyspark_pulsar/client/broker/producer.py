"""A producer on one topic partition: frames out, receipts in, in the same order.

    state   | is                                    | ends with                                       | and then is
    opening | PRODUCER is sent, under the same name | PRODUCER_SUCCESS                                | open
            | as before where it had one            | what may pass, before the time for it is over   | opening
            |                                       | any other ERROR, or that time is over           | it raises
    open    | frames go out, receipts come          | the connection ends, CLOSE_PRODUCER, SEND_ERROR | lost
            |                                       | that may pass, a receipt out of its order       |
            |                                       | any other SEND_ERROR; a receipt that proves     | failed
            |                                       | nothing (`NotStored`)                           |
    lost    | no receipt counts                     | the task's thread sees it, in `send` or         | opening
            |                                       | `await_below`; without `sends_again` it raises  |
            |                                       | where something is unconfirmed                  |
    failed  | for good: `send` and `await_below`    |                                                 |
            | raise the first failure               |                                                 |

A frame is kept until its receipt arrives (`unconfirmed`). After a producer is lost, the next one sends the unconfirmed
frames again: a message may be stored twice, but is never lost (at-least-once). After a frame has failed, the frames
behind it count as not written, even if they are stored.

The connection's thread only records receipts; the task's thread sends, waits and opens. `_changed` guards what both
use. Before a producer opens again, the earlier one is closed, and its answer arrives or its connection ends: so no
receipt counts for the wrong producer. The epoch of CommandProducer lets brokers replace the earlier producer.
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
"""Id of the producer that settles a topic: no other producer of its client has it."""

_CLOSE_SECONDS = 5.0
_WAIT_SECONDS = 0.5
_EXCLUSIVE_WITH_FENCING = 3
_NOWHERE = 2**64 - 1
"""The ledger of a receipt for what deduplication has not stored: -1."""
_NON_PERSISTENT: Final = "non-persistent://"


class Producer:
    """Used by one task thread; receipts come on the connection's thread."""

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
        """`producer_id` must be unique among the producers of `client`, over all its connections.

        `encrypted`: say that messages are, which namespaces can demand. `exclusive`: throw every other producer out of
        the topic; whoever does that to this one makes it fail with `WriterFenced` for good. Without `sends_again` a
        message whose receipt may be lost fails the producer, so that none is stored twice. `keep_for`: a durable
        subscription for which the topic keeps its messages. `name`: the user's, under which sequence ids are the user's
        too, so that the broker may know messages from earlier producers of that name; else the broker makes one.
        `on_stored`: told of each frame that is stored, in their order: its sequence id, and ledger and entry, which
        deduplication may keep to itself; called on the connection's thread, must not block.
        """
        self.topic = topic
        self.producer_id = producer_id
        self.name = name or ""
        self.known_already = 0
        """Entries that the broker did not store, since it had their sequence ids from an earlier producer."""
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
        # Not parsed: brokers have topics whose names this package does not take.
        self._is_persistent = not topic.startswith(_NON_PERSISTENT)
        self._topic_epoch: int | None = None
        self._epoch = 0
        self._connection: Connection | None = None
        self._changed = threading.Condition()
        self._unconfirmed = Unconfirmed(sends_again=sends_again)
        self._lost: ConnectionFailed | None = None
        self._failure: PulsarError | None = None

    def open(self) -> None:
        """Raises what the broker refuses with: `SchemaError`, `PermissionDenied`, `TopicNotFoundError`."""
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
                # The broker then lets nobody back in who was thrown out meanwhile.
                request.topic_epoch = self._topic_epoch
        command = wire.BaseCommand(type=PRODUCER, producer=request)
        with self._changed:
            self._lost = None
        try:
            seconds = self._client.left(self._client.request_seconds)
            answer = self._opened(connection, command, seconds)
        except BaseException as fault:
            connection.remove_producer(self.producer_id)
            if isinstance(fault, DeadlineExceeded) or not isinstance(fault, PulsarError):
                # The broker may open the producer yet, or has opened it while this thread was interrupted.
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

    def _opened(self, connection: Connection, command: wire.BaseCommand, seconds: float) -> Any:
        try:
            return connection.request(command, f"opening a producer on {self.topic}", seconds)
        except ProducerBusy as busy:
            if not self.name:
                raise
            # The producer of this name may be our own former one, or that of an attempt which is over: brokers take a
            # moment to see a connection break.
            raise NotReady(f"{busy}; producer names must be unique in a topic") from busy

    # Listener; the connection's receiving thread calls these

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
                # Among others: whether it is a duplicate is not known yet, as its first sending is not stored yet.
                self.on_closed(ConnectionFailed(str(failure)))
            else:
                self._fail(failure)
        elif command.type == CLOSE_PRODUCER:
            self.on_closed(ConnectionFailed(f"{self.topic}: the broker closed the producer; the topic moves"))

    def on_entries(self) -> None:
        """Producers receive none."""

    def on_closed(self, reason: ConnectionFailed) -> None:
        with self._changed:
            self._lost = reason
            self._changed.notify_all()

    def _confirm(self, sequence_id: int, *, stored: bool) -> bool:
        """Whether it is the receipt of a frame that had none yet."""
        with self._changed:
            if self._lost is not None or not self._unconfirmed:
                return False  # All that is unconfirmed is sent again anyhow.
            is_oldest = sequence_id == self._unconfirmed.oldest_id
            # Of ids that the user gives, the user says that the message with such an id was written before.
            known_already = self._named and not stored and sequence_id == self._unconfirmed.oldest_id
            self.known_already += known_already
            # A non-persistent topic stores nothing, and says so of what it drops.
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
            f"that deduplication takes it for a duplicate, though it was not sent before; nothing behind it counts as "
            f"written. Another producer may use the name, or the broker's record of sequence ids may be of another time"
        )

    def _fail(self, failure: PulsarError) -> None:
        if not isinstance(failure, SendError | WriterFenced):
            failure = SendError(f"{failure}; nothing behind it counts as written")
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    # The task's thread calls these

    def send(self, frames: SendFrames) -> None:
        """Send without waiting for receipts, but for those of chunks, whose last one is sent when the broker has all
        others. Raises `SendError` for anything refused so far, `DeadlineExceeded`."""
        with self._changed:
            self._raise_failure()
            was_let_go = self._lost is not None and not self._unconfirmed
        if was_let_go:
            # Nothing is in doubt, which it would be with these frames.
            self._recover()
        with self._changed:
            self._raise_failure()
            self._unconfirmed.add(frames, time.monotonic())
        self._send_all()

    def await_below(self, most_bytes: int) -> None:
        """Wait until fewer than `most_bytes` are unconfirmed, or none are for 0.

        Raises `SendError` for a refusal, `DeadlineExceeded` when the oldest frame is older than the timeout.
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
        """Where the connection is lost, send what is unconfirmed again on a new one, without waiting for receipts. For
        whoever waits by `on_stored`. Raises as `await_below` does."""
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
        """How often exclusive producers have taken the topic, which the broker keeps with the topic; None for never,
        and before `open`."""
        return self._topic_epoch

    def _send_all(self) -> None:
        """Send what was not sent yet on the present connection, or again on a new one."""
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
                        f"{self.topic}: expected a receipt for every message, but the connection or the topic went "
                        f"away ({self._lost}) with some unconfirmed; sent again they could be stored twice, so this "
                        f"attempt is given up and nothing of it counts as written"
                    )
        patience = max(0.1, oldest + self._timeout_seconds - time.monotonic())
        self._client.forget_owner(self.topic)
        # The broker may still hold the producer, on a connection that is otherwise sound.
        self.close()
        try:
            with self._client.until(time.monotonic() + patience):
                self._client.retrying(self._open_once, patience)
        except ConnectionFailed as failure:
            raise SendError(
                f"{self.topic}: expected all messages to be confirmed within {self._timeout_seconds:.0f} s, got no "
                f"producer to send them again ({failure}); nothing unconfirmed counts as written"
            ) from failure
        with self._changed:
            self._unconfirmed.begin_again()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _check_deadline(self) -> None:
        waited = time.monotonic() - self._unconfirmed.oldest_since
        if waited > self._timeout_seconds:
            raise DeadlineExceeded(
                f"{self.topic}: expected a receipt within {self._timeout_seconds:.0f} s, got none for message "
                f"{self._unconfirmed.oldest_id}; raise pulsar.producer.sendTimeoutMs if the broker is slow"
            )

    def close(self) -> None:
        """Let no receipt of the present producer come after this: a connection on which the broker does not answer in
        time is closed too. Never raises for one that is already gone."""
        connection = self._connection
        try:
            self._close()
        except DeadlineExceeded as silence:
            if connection is not None:
                connection.close(ConnectionFailed(str(silence)))
        except PulsarError:
            pass  # Whatever else the broker answers, it answers in order.

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.remove_producer(self.producer_id)
        if not connection.is_open:
            return
        connection.request(*self._closing(), _CLOSE_SECONDS)

    def _closing(self) -> tuple[wire.BaseCommand, str]:
        """The request that closes the producer, and its name in errors."""
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
