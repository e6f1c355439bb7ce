"""Moving the keepers: the durable subscriptions for which the two topics keep what lies behind them."""

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
    """Let the broker delete whole ledgers before `to`; back is not possible. Returns where the keeper stood; None where
    it was at the beginning. Raises `SubscriptionBusy`, `PermissionDenied`, `ConnectionFailed`."""

    def attempt(client: BrokerClient) -> MessagePosition | None:
        cursor = hold_cursor(client, partition.name, KEEPER)
        try:
            stood = cursor.position()
            if to is not None and Position(*to) > stood:
                cursor.settle(cursor.acknowledge(Position(*to)))
        finally:
            cursor.close()
        return None if stood.is_earliest else (stood.ledger, stood.entry)

    with cluster.borrowed() as client:
        return client.retrying(lambda: attempt(client))


def end_of(cluster: Cluster, partition: TopicPartition) -> MessagePosition | None:
    """Behind the last message; None where there is none."""

    def attempt(client: BrokerClient) -> MessagePosition | None:
        consumer = subscribe(client, partition.name, None)
        try:
            end = consumer.end()
        finally:
            consumer.close()
        return None if end.is_earliest else (end.ledger, end.entry)

    with cluster.borrowed() as client:
        return client.retrying(lambda: attempt(client))
