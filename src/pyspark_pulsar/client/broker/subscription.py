"""The cursor of a durable subscription in one topic partition: where it stands, and moving it on. Driver only.

The cursor is held by an exclusive consumer that asks for no messages: brokers take acknowledgements from consumers
only, and so nobody else can use the subscription at the same time.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from typing import Any

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.commands import ACK, CLOSE_CONSUMER, GET_LAST_MESSAGE_ID, SUBSCRIBE, signed
from pyspark_pulsar.client.broker.connection import Connection, await_answer
from pyspark_pulsar.client.broker.server_error import server_error
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, ProtocolError, PulsarError
from pyspark_pulsar.position import EARLIEST, Position

_EXCLUSIVE, _FROM_EARLIEST, _CUMULATIVE = 0, 1, 1


class Cursor:
    """Open with `hold_cursor`. One thread uses it; the connection's thread tells of its end."""

    def __init__(self, connection: Connection, topic: str, subscription: str, request_seconds: float) -> None:
        self._connection = connection
        self._consumer_id = connection.new_id()
        self._where = f"subscription {subscription!r} of {topic}"
        self._request_seconds = request_seconds
        self._lock = threading.Lock()
        self._failure: ConnectionFailed | None = None
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
        """None come: no permits are given."""

    def on_closed(self, reason: ConnectionFailed) -> None:
        with self._lock:
            self._failure = self._failure or reason

    # The caller's thread

    def subscribe(self, topic: str, subscription: str) -> None:
        """Once. Makes the subscription at the topic's first message where there is none."""
        request = wire.CommandSubscribe(
            topic=topic,
            subscription=subscription,
            subType=_EXCLUSIVE,
            consumer_id=self._consumer_id,
            request_id=0,
            durable=True,
            initialPosition=_FROM_EARLIEST,
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
        # The entry id may be -1, "before the first entry", which the protocol carries as an unsigned long.
        entry = (position.entry - 1) % 2**64
        request = wire.CommandAck(
            consumer_id=self._consumer_id,
            ack_type=_CUMULATIVE,
            message_id=[wire.MessageIdData(ledgerId=position.ledger, entryId=entry)],
            request_id=0,
        )
        return self._connection.submit(wire.BaseCommand(type=ACK, ack=request), self._where)

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


def hold_cursor(client: BrokerClient, topic: str, subscription: str) -> Cursor:
    """Hold the cursor of `subscription` in `topic` (a partition's own name). One attempt; the caller retries.

    Raises `ConnectionFailed` (passing), `SubscriptionBusy`, `PermissionDenied`, `TopicNotFoundError`.
    """
    cursor = Cursor(client.owner_connection(topic), topic, subscription, client.request_seconds)
    try:
        cursor.subscribe(topic, subscription)
    except BaseException:
        # A broker that was only slow would keep the consumer, and then call the subscription busy.
        cursor.close()
        client.forget_owner(topic)
        raise
    return cursor
