"""Moving the keeper subscriptions: the broker keeps all messages after the position of a keeper subscription."""

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
    """Move a keeper subscription forward to `to`, so that the broker may delete the ledgers before `to`.

    The subscription does not move if `to` is None, or is not after the present position.

    Returns:
        The position before the move; None if the subscription was at the beginning of the topic.

    Raises:
        SubscriptionBusy: Another consumer is using the subscription.
        PermissionDenied: The role is not allowed to consume from the topic.
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
