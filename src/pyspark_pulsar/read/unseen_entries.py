"""Moving past entries of a topic partition that no consumer sees. Used on the driver and on executors.

Brokers store entries that no consumer ever sees: the markers at the ends of transactions, and the messages of aborted
transactions. Neither brokers nor lists of ledgers report the number of such entries. But if a consumer has a permit, a
broker reads on and acknowledges such entries for the consumer (seen on 4.0.8). The broker stops at the first message,
which it sends, or at a transaction that is still open. So the consumer's mark-delete position proves that no earlier
entry is or will become visible to consumers. Only the permission to consume is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import EntryConsumer, request_log_ends
from pyspark_pulsar.client.broker.subscribe import PendingSubscription, begin_subscribe
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.runtime import time

_AT_ONCE: Final = 100
"""Maximum number of topic partitions per round of requests. A broker may send one entry for each topic partition."""
_PAUSE_SECONDS: Final = 0.05

Span = tuple[Position, Position]
"""The position to begin at (inclusive), and the log end (exclusive)."""


def pass_unseen(
    client: BrokerClient, spans: Mapping[TopicPartition, Span], seconds: float
) -> dict[TopicPartition, Position]:
    """Return, for each span, the position before which no entry is visible to consumers.

    Args:
        client: The connections to brokers.
        spans: The part of each topic partition to examine.
        seconds: Time limit for each hundred topic partitions. After this time, brokers may not have reached the log
            end.

    Returns:
        The position that the broker reached in each topic partition.

    Raises:
        ConnectionFailed, PermissionDenied, TopicNotFoundError: A broker did not answer, or refused the request.

    """
    reached: dict[TopicPartition, Position] = {}
    names = list(spans)
    for begin in range(0, len(names), _AT_ONCE):
        window = {partition: spans[partition] for partition in names[begin : begin + _AT_ONCE]}
        reached |= client.retrying(partial(_pass_unseen, client, window, seconds))
    return reached


def _pass_unseen(
    client: BrokerClient, spans: Mapping[TopicPartition, Span], seconds: float
) -> dict[TopicPartition, Position]:
    reached: dict[TopicPartition, Position] = {}
    with ExitStack() as to_close:
        rest = _consumers(client, spans, to_close)
        deadline = time.monotonic() + seconds
        while rest:
            for partition, answer in zip(rest, request_log_ends(list(rest.values())), strict=True):
                answered_by = time.monotonic() + client.request_seconds
                reached[partition] = rest[partition].await_log_end(answer, answered_by).mark_delete
            rest = {
                partition: consumer
                for partition, consumer in rest.items()
                if reached[partition] < spans[partition][1] and consumer.first_waiting() is None
            }
            if time.monotonic() >= deadline:
                break
            time.sleep(_PAUSE_SECONDS)
    return reached


def _consumers(
    client: BrokerClient, spans: Mapping[TopicPartition, Span], to_close: ExitStack
) -> dict[TopicPartition, EntryConsumer]:
    connections = client.owner_connections(partition.name for partition in spans)
    begun: dict[TopicPartition, PendingSubscription] = {}
    for partition, (start, _) in spans.items():
        connection = connections[partition.name]
        if isinstance(connection, PulsarError):
            raise connection
        begun[partition] = begin_subscribe(client, connection, partition.name, start)
        to_close.callback(begun[partition].abandon)
    consumers = {partition: subscribing.consumer() for partition, subscribing in begun.items()}
    for consumer in consumers.values():
        consumer.add_permits(1)
    return consumers
