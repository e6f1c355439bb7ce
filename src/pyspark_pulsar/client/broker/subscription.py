"""The cursor of a durable subscription in one topic partition: reading and moving its position.

This module runs on the driver only. Brokers accept acknowledgements only from consumers, so a cursor is an exclusive
consumer that requests no messages. While this consumer is open, no other client can use the subscription.

For a replicated subscription, the consumer must request some messages. While producers send messages, each cluster
writes a marker into its topic once a second. The marker contains a snapshot: for each cluster, the position that
corresponds to the positions in the other clusters. After the subscription has acknowledged a position after a snapshot,
the broker moves the subscription in the other clusters. A broker knows only the snapshots that it has read while
sending entries to a consumer. Brokers do not send markers to consumers, so a marker leaves a gap in the entry ids that
a consumer receives.

    call or event  | condition                | effect
    `look_ahead`   | no permit is left        | FLOW for 1,000 messages at first and after a gap in the entry ids,
                   |                          | otherwise for four times the last number, up to 16,000
                   | permits are left         | none
    entries arrive |                          | the entries are dropped
                   | an entry id is missing   | `look_ahead` also does nothing for the next 5 s

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
    """The cursor of a subscription that only this process uses, opened by `hold_cursor`.

    One thread uses the cursor. The connection's thread calls `on_command`, `on_entries` and `on_closed`.
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
        """Drop all received entries, and record whether entry ids are missing between the entries.

        Brokers send whole entries, so more messages than requested can arrive. All entries must be removed from the
        connection, because a full connection receives nothing.
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
        """Subscribe with one attempt. If the subscription is missing, the broker creates it at the first message."""
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
        """Return the first position that the cursor has not passed.

        Raises:
            ProtocolError: The broker does not report positions of cursors, because the broker is older than Pulsar 2.8.
            PulsarError: The broker refused the request, or the connection failed.

        """
        position = mark_delete_position(self._request(self._last_message_request()))
        if position is None:
            raise ProtocolError(
                f"{self._where}: expected the broker to report the cursor's position, got none; use Pulsar 2.8 or later"
            )
        return position

    def acknowledge(self, position: Position) -> Future[Any]:
        """Acknowledge all entries before the entry of `position`. Pass the returned future to `settle`.

        If `position` is inside an entry, this entry is not acknowledged. The cursor never moves back.
        """
        with self._lock:
            # The broker does not send acknowledged entries. Do not count their entry ids as missing.
            self._following = max(self._following, (position.ledger, position.entry))
        return self.connection.submit(self._acknowledgement(position, request_id=0), self._where)

    def look_ahead(self) -> None:
        """Request messages of a replicated subscription, so that the broker reads the next snapshot. Do not wait.

        Raises:
            ConnectionFailed: The connection is closed or breaks.

        """
        with self._lock:
            if self._permits > 0 or time.monotonic() < self._paused_until:
                return
            self._flow_size = min(max(_FEW, _MORE * self._flow_size), _MOST)
            # `_permits` is negative if more messages than requested have arrived.
            self._permits += self._flow_size
        self.add_permits(self._flow_size)

    def settle(self, answer: Future[Any]) -> None:
        """Wait until the broker has accepted an acknowledgement. Raise the broker's refusal, or `ConnectionFailed`."""
        answered = await_answer(answer, f"acknowledging in {self._where}", self._request_seconds)
        if answered.HasField("error"):
            raise server_error(answered.error, answered.message, f"acknowledging in {self._where}")

    def _request(self, command: wire.BaseCommand) -> Any:
        return self.connection.request(command, f"opening {self._where}", self._request_seconds)


def hold_cursor(
    client: BrokerClient, topic: str, subscription: str, *, is_replicated: bool = False
) -> Cursor:
    """Open the cursor of a subscription. This function makes one attempt, and the caller can retry.

    Args:
        client: The client.
        topic: The full name of a topic without partitions, or of a partition.
        subscription: The name of the subscription.
        is_replicated: Whether Pulsar replicates the subscription to the other clusters of the topic.

    Raises:
        ConnectionFailed: A temporary failure.
        SubscriptionBusy: Another consumer uses the subscription.
        PermissionDenied: The role is not allowed to use the subscription.
        TopicNotFoundError: The topic does not exist.

    """
    cursor = Cursor(client.owner_connection(topic), topic, subscription, client.request_seconds)
    try:
        cursor.subscribe(topic, subscription, is_replicated=is_replicated)
    except BaseException:
        # A slow broker can still open the consumer. The next attempt would then raise `SubscriptionBusy`.
        cursor.close()
        client.forget_owner(topic)
        raise
    return cursor
