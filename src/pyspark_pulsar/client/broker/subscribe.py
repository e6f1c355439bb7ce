"""Creation of a consumer for a topic partition: SUBSCRIBE, and the broker's answer.

The consumer is exclusive. By default, its subscription has a random name, is not durable, and leaves no data in Pulsar.
This module never creates a topic.

    function          | commands and answers
    `begin_subscribe` | SUBSCRIBE with the start position. Several subscriptions can be pending at the same time.
    `consumer`        | SUCCESS: the consumer is open. ERROR, timeout or lost connection: `consumer` raises, and the
                      | next attempt looks up the topic's owner again.
    `abandon`         | CLOSE_CONSUMER, which brokers accept even before the consumer is open
    `end`             | waits until the consumer is open, sends CLOSE_CONSUMER, and waits for the answer

After `begin_subscribe`, the caller must call `consumer`, `abandon` or `end`, even if the caller's own code fails in
between.

Protocol: CommandSubscribe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import SUBSCRIBE
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.runtime import Future, uuid

_EXCLUSIVE = 0
_EARLIEST, _LATEST = 1, 0


def subscribe(
    client: BrokerClient, topic: str, start: Position | None, *, read_compacted: bool = False
) -> EntryConsumer:
    """Subscribe to a topic partition. This function makes one attempt, and the caller can retry.

    Args:
        client: The client.
        topic: The topic partition.
        start: The position of the first message, or None to start after the last message. Entries arrive whole, so the
            first entry can contain messages before `start`.
        read_compacted: Whether to read the entries and the log end of the compacted topic.

    Raises:
        ConnectionFailed: A temporary failure.
        TopicNotFoundError: The topic does not exist.
        PermissionDenied: The role is not allowed to read the topic.

    """
    return begin_subscribe(
        client, client.owner_connection(topic), topic, start, read_compacted=read_compacted
    ).consumer()


@dataclass(frozen=True, slots=True)
class PendingSubscription:
    """A SUBSCRIBE command without an answer yet, and the consumer that the command opens."""

    _client: BrokerClient
    _connection: Connection
    _topic: str
    _consumer: EntryConsumer
    _answer: Future[Any]

    def consumer(self, wait_seconds: float = math.inf) -> EntryConsumer:
        """Wait for the broker and return the open consumer.

        Args:
            wait_seconds: Maximum time to wait, in seconds. The upper limit is the timeout of a request.

        Raises:
            PulsarError: The subscription failed. `subscribe` lists the error classes.

        """
        try:
            seconds = self._client.seconds_left(min(wait_seconds, self._client.request_seconds))
            await_answer(self._answer, f"subscribing to {self._topic}", seconds)
        except BaseException as fault:
            if self._answer.done() and isinstance(fault, PulsarError):
                self._connection.remove_consumer(self._consumer.consumer_id)
            else:
                # The broker can open the consumer later, or can have opened the consumer before this thread was
                # interrupted.
                self.abandon()
            self._client.forget_owner(self._topic)
            raise
        return self._consumer

    @property
    def is_answered(self) -> bool:
        """Return whether `consumer` returns or raises without waiting."""
        return self._answer.done()

    def abandon(self) -> None:
        """Close the consumer without waiting, even before the consumer is open. A second call is allowed."""
        self._consumer.close()

    def end(self, wait_seconds: float) -> None:
        """Wait until the broker has opened the consumer, close the consumer, and wait for the broker's answer.

        Each wait lasts at most `wait_seconds`. Errors of the broker are ignored. An exclusive subscription refuses
        another consumer until the broker has closed this consumer.
        """
        try:
            self.consumer(wait_seconds).close(wait_seconds)
        except PulsarError:
            return


def begin_subscribe(
    client: BrokerClient,
    connection: Connection,
    topic: str,
    start: Position | None,
    *,
    read_compacted: bool = False,
    subscription: str | None = None,
    durable: bool = False,
) -> PendingSubscription:
    """Send SUBSCRIBE on the connection to the topic's owner, without waiting for the answer.

    Args:
        client: The client.
        connection: The connection to the topic's owner.
        topic: The topic partition.
        start: The position of the first message, as for `subscribe`.
        read_compacted: Whether to read the compacted topic, as for `subscribe`.
        subscription: The name of the subscription. The default is a random name.
        durable: Whether the subscription is durable. The consumer of an existing durable subscription starts at the
            subscription's position instead of `start`. If the subscription is missing, the broker creates it.

    """
    consumer = EntryConsumer(connection, connection.new_id(), topic, client.request_seconds)
    connection.add_consumer(consumer.consumer_id, consumer)
    request = wire.CommandSubscribe(
        topic=topic,
        subscription=subscription or f"pyspark-pulsar-{uuid.uuid4().hex}",
        subType=_EXCLUSIVE,
        consumer_id=consumer.consumer_id,
        request_id=0,
        durable=durable,
        read_compacted=read_compacted,
        start_message_id=_start_message_id(start),
        initialPosition=_LATEST if start is None else _EARLIEST,
        force_topic_creation=False,
    )
    command = wire.BaseCommand(type=SUBSCRIBE, subscribe=request)
    try:
        answer = connection.submit(command, f"subscribing to {topic}")
    except BaseException:
        connection.remove_consumer(consumer.consumer_id)
        client.forget_owner(topic)
        raise
    return PendingSubscription(client, connection, topic, consumer, answer)


def _start_message_id(start: Position | None) -> wire.MessageIdData:
    if start is None:
        return wire.MessageIdData(ledgerId=2**63 - 1, entryId=2**63 - 1)
    if start.is_earliest:
        return wire.MessageIdData(ledgerId=2**64 - 1, entryId=2**64 - 1)
    # A cursor reads from the entry after its position. If the message id contains a batch index, the broker moves the
    # cursor back by one entry. The first entry is then the entry of `start`.
    return wire.MessageIdData(ledgerId=start.ledger, entryId=start.entry, batch_index=start.batch_index)
