"""The cursor of a durable subscription in one topic partition: reading its position, and moving it. Driver only.

An exclusive consumer that requests no messages holds the cursor. Brokers accept acknowledgements only from consumers,
and no other client can use the subscription at the same time.

For a replicated subscription, the consumer must request some messages. While messages arrive, clusters write a marker
into their topics once a second: a snapshot of matching positions. When a position after a snapshot is acknowledged, a
broker moves the subscription in the other clusters. The broker knows only snapshots that it passed while it read for a
consumer. Brokers do not send markers to consumers, but the entry ids of markers are missing between other entries.

    `look_ahead`   | no permits left       | FLOW: a thousand messages, or more if no id was missing before
                   | permits left          | nothing
    entries arrive |                       | they are dropped; if ids are missing, it pauses for some seconds

Sources: `AbstractBaseDispatcher.filterEntriesForConsumer`, `ReplicatedSubscriptionsController` of Pulsar 4.0.8.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import SUBSCRIBE
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.broker.open_consumer import OpenConsumer, mark_delete_position
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.runtime import Future, threading, time

_EXCLUSIVE, _FROM_EARLIEST = 0, 1
_FEW: Final = 1_000
_MORE: Final = 4
_MOST: Final = 16_000
_REST_SECONDS: Final = 5.0


class Cursor(OpenConsumer):
    """A cursor that this process holds, from `hold_cursor`.

    One thread uses the cursor. The connection's thread reports its end.
    """

    def __init__(self, connection: Connection, topic: str, subscription: str, request_seconds: float) -> None:
        where = f"subscription {subscription!r} of {topic}"
        super().__init__(connection, connection.new_id(), where, request_seconds)
        self._lock = threading.Lock()
        self._permits = 0
        self._flow_size = 0
        self._following = (-1, -1)
        self._paused_until = 0.0
        connection.add_consumer(self.consumer_id, self)

    def on_entries(self) -> None:
        """Drop all entries, and record whether ids between them are missing.

        Brokers send whole batches of entries, so more messages than requested may arrive. All of them must be taken,
        because remaining entries fill the connection, and then nothing else arrives.
        """
        entries = self.connection.take_entries(self.consumer_id)
        if entries is None or entries.last is None:
            return
        with self._lock:
            self._permits -= entries.num_messages
            if entries.gaps(self._following):
                self._flow_size = 0
                self._paused_until = time.monotonic() + _REST_SECONDS
            ledger, entry = entries.last
            self._following = (ledger, entry + 1)

    # Methods for the caller's thread

    def subscribe(self, topic: str, subscription: str, *, is_replicated: bool = False) -> None:
        """Subscribe, once. If the subscription does not exist, create it at the topic's first message."""
        request = wire.CommandSubscribe(
            topic=topic,
            subscription=subscription,
            subType=_EXCLUSIVE,
            consumer_id=self.consumer_id,
            request_id=0,
            durable=True,
            initialPosition=_FROM_EARLIEST,
            replicate_subscription_state=is_replicated,
            force_topic_creation=False,
        )
        self._request(wire.BaseCommand(type=SUBSCRIBE, subscribe=request))

    def position(self) -> Position:
        """Return the position of the next message to acknowledge, after all acknowledged entries."""
        position = mark_delete_position(self._request(self._last_message_request()))
        if position is None:
            raise ProtocolError(
                f"{self._where}: expected the position of its cursor, got none; this needs Pulsar 2.8 or later"
            )
        return position

    def acknowledge(self, position: Position) -> Future[Any]:
        """Acknowledge all entries before the one of `position`. Pass the result to `settle`.

        An entry that is read in part stays unacknowledged. The cursor never moves back.
        """
        with self._lock:
            # Entries that the broker skips because of this are not missing.
            self._following = max(self._following, (position.ledger, position.entry))
        return self.connection.submit(self._acknowledgement(position, request_id=0), self._where)

    def look_ahead(self) -> None:
        """Let the broker read ahead in a replicated subscription until it passes a snapshot. Do not wait.

        Raises:
            ConnectionFailed: The connection is closed or breaks.

        """
        with self._lock:
            if self._permits > 0 or time.monotonic() < self._paused_until:
                return
            self._flow_size = min(max(_FEW, _MORE * self._flow_size), _MOST)
            # The last batch may have brought more messages than were requested.
            self._permits += self._flow_size
        self.add_permits(self._flow_size)

    def settle(self, answer: Future[Any]) -> None:
        """Wait until the broker has accepted an acknowledgement. Raise its refusal, or `ConnectionFailed`."""
        answered = await_answer(answer, f"acknowledging in {self._where}", self._request_seconds)
        if answered.HasField("error"):
            raise server_error(answered.error, answered.message, f"acknowledging in {self._where}")

    def _request(self, command: wire.BaseCommand) -> Any:
        return self.connection.request(command, f"opening {self._where}", self._request_seconds)


def hold_cursor(
    client: BrokerClient, topic: str, subscription: str, *, is_replicated: bool = False
) -> Cursor:
    """Hold the cursor of a subscription. This is one attempt, which the caller may retry.

    Args:
        client: The client.
        topic: The topic, or the partition's own name.
        subscription: The name of the subscription.
        is_replicated: Whether the other clusters of the topic shall have the subscription too.

    Raises:
        ConnectionFailed: A temporary failure.
        SubscriptionBusy: Another consumer uses the subscription.
        PermissionDenied: The role may not use the subscription.
        TopicNotFoundError: The topic does not exist.

    """
    cursor = Cursor(client.owner_connection(topic), topic, subscription, client.request_seconds)
    try:
        cursor.subscribe(topic, subscription, is_replicated=is_replicated)
    except BaseException:
        # A broker that was only slow would keep the consumer, and then report the subscription as busy.
        cursor.close()
        client.forget_owner(topic)
        raise
    return cursor
