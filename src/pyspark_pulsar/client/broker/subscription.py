"""The cursor of a durable subscription in one topic partition: where it stands, and moving it on. Driver only.

The cursor is held by an exclusive consumer that asks for no messages: brokers take acknowledgements from consumers
only, and so nobody else can use the subscription at the same time.

Of a replicated subscription it must ask for some. Clusters note in their topics, once a second while messages come,
which of their positions belong together: a snapshot, in a marker. A broker moves the subscription on in the other
clusters when a position is acknowledged behind a snapshot, and it knows those alone that it met on its way to a
consumer. Markers stay with the broker. They are seen by the entry ids that are missing where they lie.

    `look_ahead` | nothing asked for, or all came | FLOW: a thousand messages; more where no id was missing before
                 | messages are to come           | nothing
    entries come |                                | dropped; are ids missing, it rests for some seconds

Sources: `AbstractBaseDispatcher.filterEntriesForConsumer`, `ReplicatedSubscriptionsController` of Pulsar 4.0.8.
"""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import Future
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import (
    ACK,
    CLOSE_CONSUMER,
    FLOW,
    GET_LAST_MESSAGE_ID,
    SUBSCRIBE,
    frame,
    signed,
)
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, ProtocolError, PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position

_EXCLUSIVE, _FROM_EARLIEST, _CUMULATIVE = 0, 1, 1
_FEW: Final = 1_000
_MORE: Final = 4
_MOST: Final = 16_000
_REST_SECONDS: Final = 5.0


class Cursor:
    """Open with `hold_cursor`. One thread uses it; the connection's thread tells of its end."""

    def __init__(self, connection: Connection, topic: str, subscription: str, request_seconds: float) -> None:
        self._connection = connection
        self._consumer_id = connection.new_id()
        self._where = f"subscription {subscription!r} of {topic}"
        self._request_seconds = request_seconds
        self._lock = threading.Lock()
        self._failure: ConnectionFailed | None = None
        self._permits = 0
        self._asked = 0
        self._following = (-1, -1)
        self._rests_until = 0.0
        connection.add_consumer(self._consumer_id, self)

    @property
    def is_open(self) -> bool:
        """False when the connection is gone, or the broker has closed the consumer: the topic moves, or the
        subscription or the topic was deleted."""
        return self._failure is None and self._connection.is_open

    # Listener; the connection's receiving thread calls these

    def on_command(self, command: wire.BaseCommand) -> None:
        if command.type == CLOSE_CONSUMER:
            self.on_closed(
                ConnectionFailed(f"{self._where}: the broker closed the consumer; the topic moves")
            )

    def on_entries(self) -> None:
        """They are of no use but for what lies between them. All are taken, also those of which no message was asked
        for, as brokers send whole batches of entries: what is left fills the connection, and nothing else comes."""
        entries = self._connection.take_entries(self._consumer_id)
        if entries is None or entries.last is None:
            return
        with self._lock:
            self._permits -= entries.num_messages
            if entries.gaps(self._following):
                self._asked = 0
                self._rests_until = time.monotonic() + _REST_SECONDS
            ledger, entry = entries.last
            self._following = (ledger, entry + 1)

    def on_closed(self, reason: ConnectionFailed) -> None:
        with self._lock:
            self._failure = self._failure or reason

    # The caller's thread

    def subscribe(self, topic: str, subscription: str, *, is_replicated: bool = False) -> None:
        """Once. Makes the subscription at the topic's first message where there is none."""
        request = wire.CommandSubscribe(
            topic=topic,
            subscription=subscription,
            subType=_EXCLUSIVE,
            consumer_id=self._consumer_id,
            request_id=0,
            durable=True,
            initialPosition=_FROM_EARLIEST,
            replicate_subscription_state=is_replicated,
            force_topic_creation=False,
        )
        self._request(wire.BaseCommand(type=SUBSCRIBE, subscribe=request))

    def position(self) -> Position:
        """The next message to acknowledge: behind the entry up to which all is acknowledged."""
        request = wire.CommandGetLastMessageId(consumer_id=self._consumer_id, request_id=0)
        answer = self._request(wire.BaseCommand(type=GET_LAST_MESSAGE_ID, getLastMessageId=request))
        if not answer.HasField("consumer_mark_delete_position"):
            raise ProtocolError(
                f"{self._where}: expected the position of its cursor, got none; this needs Pulsar 2.8 or later"
            )
        marked = answer.consumer_mark_delete_position
        ledger, entry = signed(marked.ledgerId), signed(marked.entryId)
        return EARLIEST if ledger < 0 else Position(ledger, entry + 1)

    def acknowledge(self, position: Position) -> Future[Any]:
        """Say that all entries before the one of `position` are read; `settle` the result.

        An entry that is read in part stays unacknowledged. Moving back does nothing.
        """
        with self._lock:
            # What the broker passes over by this is not missing.
            self._following = max(self._following, (position.ledger, position.entry))
        # The entry id may be -1, "before the first entry", which the protocol carries as an unsigned long.
        entry = (position.entry - 1) % 2**64
        request = wire.CommandAck(
            consumer_id=self._consumer_id,
            ack_type=_CUMULATIVE,
            message_id=[wire.MessageIdData(ledgerId=position.ledger, entryId=entry)],
            request_id=0,
        )
        return self._connection.submit(wire.BaseCommand(type=ACK, ack=request), self._where)

    def look_ahead(self) -> None:
        """Of a replicated subscription: let the broker read on, until it has met a snapshot. Does not wait. Raises
        `ConnectionFailed`."""
        with self._lock:
            if self._permits > 0 or time.monotonic() < self._rests_until:
                return
            self._asked = min(max(_FEW, _MORE * self._asked), _MOST)
            # A batch may have brought more messages than were asked for.
            self._permits += self._asked
            flow = wire.CommandFlow(consumer_id=self._consumer_id, messagePermits=self._asked)
        self._connection.send_bytes(frame(wire.BaseCommand(type=FLOW, flow=flow)))

    def settle(self, answer: Future[Any]) -> None:
        """Wait until the broker has taken an acknowledgement. Raises what it refused with, `ConnectionFailed`."""
        answered = await_answer(answer, f"acknowledging in {self._where}", self._request_seconds)
        if answered.HasField("error"):
            raise server_error(answered.error, answered.message, f"acknowledging in {self._where}")

    def close(self) -> None:
        """Let others use the subscription, without waiting for it. Never raises."""
        self._connection.remove_consumer(self._consumer_id)
        if not self.is_open:
            return
        request = wire.CommandCloseConsumer(consumer_id=self._consumer_id, request_id=0)
        command = wire.BaseCommand(type=CLOSE_CONSUMER, close_consumer=request)
        with contextlib.suppress(PulsarError):
            self._connection.submit(command, f"closing {self._where}")

    def _request(self, command: wire.BaseCommand) -> Any:
        return self._connection.request(command, f"opening {self._where}", self._request_seconds)


def hold_cursor(
    client: BrokerClient, topic: str, subscription: str, *, is_replicated: bool = False
) -> Cursor:
    """Hold the cursor of `subscription` in `topic` (a partition's own name). One attempt; the caller retries.
    `is_replicated`: the clusters that the topic is replicated to are to have it too.

    Raises `ConnectionFailed` (passing), `SubscriptionBusy`, `PermissionDenied`, `TopicNotFoundError`.
    """
    cursor = Cursor(client.owner_connection(topic), topic, subscription, client.request_seconds)
    try:
        cursor.subscribe(topic, subscription, is_replicated=is_replicated)
    except BaseException:
        # A broker that was only slow would keep the consumer, and then call the subscription busy.
        cursor.close()
        client.forget_owner(topic)
        raise
    return cursor
