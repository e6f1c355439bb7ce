"""Moving the keeper subscriptions, which are durable and make the broker keep later messages."""

from __future__ import annotations

from pyspark_pulsar.checkpoint.clients import Cluster
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.checkpoint.messages.writer import KEEPER
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.client.broker.subscription import hold_cursor
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition


def move_keeper(
    cluster: Cluster, partition: TopicPartition, to: MessagePosition | None
) -> MessagePosition | None:
    """Let the broker delete whole ledgers before `to`.

    A keeper subscription does not move backward, and does not move if `to` is None.

    Returns:
        The position of the keeper subscription before the move; None at the beginning of the topic.

    Raises:
        SubscriptionBusy: Another consumer uses the subscription.
        PermissionDenied: The role may not consume.
        ConnectionFailed: No broker can be reached.

    """

    def attempt(client: BrokerClient) -> MessagePosition | None:
        cursor = hold_cursor(client, partition.name, KEEPER)
        try:
            position = cursor.position()
            if to is not None and Position(*to) > position:
                cursor.settle(cursor.acknowledge(Position(*to)))
        finally:
            cursor.close()
        return None if position.is_earliest else (position.ledger, position.entry)

    with cluster.borrowed() as client:
        return client.retrying(lambda: attempt(client))


def end_of(cluster: Cluster, partition: TopicPartition) -> MessagePosition | None:
    """Return the position after the last message; None if the topic is empty."""

    def attempt(client: BrokerClient) -> MessagePosition | None:
        consumer = subscribe(client, partition.name, None)
        try:
            end = consumer.end()
        finally:
            consumer.close()
        return None if end.is_earliest else (end.ledger, end.entry)

    with cluster.borrowed() as client:
        return client.retrying(lambda: attempt(client))
