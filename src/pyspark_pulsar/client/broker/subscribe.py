"""Creation of a consumer for a topic partition: SUBSCRIBE, and the broker's answer.

The consumer is exclusive. Unless the caller names its subscription, the subscription has a random name, is not durable
and leaves nothing in Pulsar. A topic is never created.

    function          | commands and answers
    `begin_subscribe` | SUBSCRIBE with the start position. Several `PendingSubscription` may be in flight.
    `consumer`        | SUCCESS: the consumer is open. ERROR, timeout or lost connection: it raises, and the next
                      | attempt looks up the topic's owner again.
    `abandon`         | CLOSE_CONSUMER. Brokers accept it also before the consumer is open.
    `end`             | CLOSE_CONSUMER after the consumer is open; waits for both answers

After `begin_subscribe`, the caller must call `consumer`, `abandon` or `end`, also after an error in between.

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
    """Subscribe to a topic partition. This is one attempt, which the caller may retry.

    Args:
        client: The client.
        topic: The topic partition.
        start: The position of the first message, or None to start after the last message. Entries arrive whole, so the
            first entry may contain messages before `start`.
        read_compacted: Read the topic's compacted view: its entries and its end.

    Raises:
        ConnectionFailed: A temporary failure.
        TopicNotFoundError: The topic does not exist.
        PermissionDenied: The role may not read the topic.

    """
    return begin_subscribe(
        client, client.owner_connection(topic), topic, start, read_compacted=read_compacted
    ).consumer()


@dataclass(frozen=True, slots=True)
class PendingSubscription:
    """A SUBSCRIBE in flight and its consumer. Several may be in flight at the same time."""

    _client: BrokerClient
    _connection: Connection
    _topic: str
    _consumer: EntryConsumer
    _answer: Future[Any]

    def consumer(self, wait_seconds: float = math.inf) -> EntryConsumer:
        """Wait for the broker and return the open consumer.

        Args:
            wait_seconds: How long to wait, up to the timeout of a request.

        Raises:
            PulsarError: The subscription failed; `subscribe` lists the classes.

        """
        try:
            seconds = self._client.seconds_left(min(wait_seconds, self._client.request_seconds))
            await_answer(self._answer, f"subscribing to {self._topic}", seconds)
        except BaseException as fault:
            if self._answer.done() and isinstance(fault, PulsarError):
                self._connection.remove_consumer(self._consumer.consumer_id)
            else:
                # The broker may still open the consumer, or has opened it while this thread was interrupted.
                self.abandon()
            self._client.forget_owner(self._topic)
            raise
        return self._consumer

    @property
    def is_answered(self) -> bool:
        """Return whether `consumer` returns or raises without waiting."""
        return self._answer.done()

    def abandon(self) -> None:
        """Close the consumer, also before it is open, without waiting. A second call is allowed."""
        self._consumer.close()

    def end(self, wait_seconds: float) -> None:
        """Wait until the broker has opened the consumer and closed it again, for at most `wait_seconds` each.

        Until then, an exclusive subscription refuses its next consumer. Failures of the broker are ignored.
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
        start: As for `subscribe`.
        read_compacted: As for `subscribe`.
        subscription: The name of the subscription, by default a random one.
        durable: Start at the subscription's position instead of `start`. The broker creates a missing subscription.

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
    # A batch index makes the broker step back by one entry, because its cursors start after a position.
    return wire.MessageIdData(ledgerId=start.ledger, entryId=start.entry, batch_index=start.batch_index)
