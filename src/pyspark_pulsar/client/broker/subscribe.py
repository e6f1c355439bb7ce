"""Making a consumer of a topic partition: SUBSCRIBE, and the broker's answer.

The consumer is exclusive. Without a name of the caller its subscription is not durable, has a random name and leaves
nothing behind. It never creates a topic.

    step              | what is sent, and what comes
    `begin_subscribe` | SUBSCRIBE with the start position. Many can be on their way: each is a `Subscribing`.
    `consumer`        | SUCCESS: the consumer is open. ERROR, no answer in time or no connection: it raises, and the
                      | owner of the topic is looked up anew for the next attempt.
    `abandon`         | CLOSE_CONSUMER. Brokers close a consumer that is not there yet, too.
    `end`             | the same, when the broker has made the consumer; waits for both answers

After `begin_subscribe`, the caller must call `consumer`, `abandon` or `end`, even when an error occurs in between.

Protocol: CommandSubscribe.
"""

from __future__ import annotations

import math
import uuid
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import SUBSCRIBE
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position

_EXCLUSIVE = 0
_EARLIEST, _LATEST = 1, 0


def subscribe(
    client: BrokerClient, topic: str, start: Position | None, *, read_compacted: bool = False
) -> EntryConsumer:
    """Subscribe at `start` (None: behind the last message). One attempt; the caller retries.

    `read_compacted`: entries and `end` are those of the topic's compacted view.

    Entries arrive whole: the first one may hold messages before `start`, which ranges drop later.
    Raises `ConnectionFailed` (passing), `TopicNotFoundError`, `PermissionDenied`.
    """
    return begin_subscribe(
        client, client.owner_connection(topic), topic, start, read_compacted=read_compacted
    ).consumer()


@dataclass(frozen=True, slots=True)
class Subscribing:
    """A subscription that is under way, so that many can be."""

    _client: BrokerClient
    _connection: Connection
    _topic: str
    _consumer: EntryConsumer
    _answer: Future[Any]

    def consumer(self, wait_seconds: float = math.inf) -> EntryConsumer:
        """Waits for the broker, at most for `wait_seconds` and as long as a request may take. Raises as `subscribe`
        does."""
        try:
            seconds = self._client.left(min(wait_seconds, self._client.request_seconds))
            await_answer(self._answer, f"subscribing to {self._topic}", seconds)
        except BaseException as fault:
            if self._answer.done() and isinstance(fault, PulsarError):
                self._connection.remove_consumer(self._consumer.consumer_id)
            else:
                # The broker may make the subscription yet, or has made it while this thread was interrupted.
                self.abandon()
            self._client.forget_owner(self._topic)
            raise
        return self._consumer

    @property
    def is_answered(self) -> bool:
        """Whether `consumer` would not wait."""
        return self._answer.done()

    def abandon(self) -> None:
        """Close the consumer, or stop its making. Does not wait: brokers also close a consumer that does not exist yet.
        May be called twice."""
        self._consumer.close()

    def end(self, wait_seconds: float) -> None:
        """Wait until the broker has made the consumer and closed it again, at most `wait_seconds` for each: the next
        consumer of an exclusive subscription is refused before. Raises nothing where the broker fails."""
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
) -> Subscribing:
    """`subscribe` on the connection to the topic's owner, without waiting for the answer.

    `subscription`: its name, by default a random one. `durable`: the consumer begins where the subscription stands,
    whatever `start` is, and the broker makes the subscription where there is none.
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
    return Subscribing(client, connection, topic, consumer, answer)


def _start_message_id(start: Position | None) -> wire.MessageIdData:
    if start is None:
        return wire.MessageIdData(ledgerId=2**63 - 1, entryId=2**63 - 1)
    if start.is_earliest:
        return wire.MessageIdData(ledgerId=2**64 - 1, entryId=2**64 - 1)
    # A batch index makes the broker step back by one entry, since its cursors start behind a position.
    return wire.MessageIdData(ledgerId=start.ledger, entryId=start.entry, batch_index=start.batch_index)
