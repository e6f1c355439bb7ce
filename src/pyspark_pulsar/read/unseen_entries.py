"""How far a broker reads a topic partition without a message for consumers. Driver and executors.

Brokers store entries that no consumer ever sees: the markers at the ends of transactions, and what aborted transactions
wrote. Neither brokers nor lists of ledgers tell how many these are. But when a consumer has a permit, its broker reads
on, acknowledges such entries for the consumer, and stops at the first message, which it sends, or at a transaction that
is still open (seen on 4.0.8). So the mark-delete position of the consumer proves that all before it is nothing that a
consumer sees or ever will see. It needs no right but to consume.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import EntryConsumer, request_log_ends
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition

_AT_ONCE: Final = 100
"""Topic partitions that are asked at the same time; a broker may send one entry of each."""
_PAUSE_SECONDS: Final = 0.05

Span = tuple[Position, Position]
"""Where to begin (inclusive), and where the log ends (exclusive)."""


def pass_unseen(
    client: BrokerClient, spans: Mapping[TopicPartition, Span], seconds: float
) -> dict[TopicPartition, Position]:
    """Return up to where nothing between the begin and the end of each span is for consumers, as far as brokers tell it
    within `seconds` for each hundred topic partitions.

    Raises `ConnectionFailed`, `PermissionDenied`, `TopicNotFoundError`.
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
    begun: dict[TopicPartition, Subscribing] = {}
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
