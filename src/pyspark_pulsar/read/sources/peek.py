"""The first entry at a position: its position, age and size. Used on the driver and on executors.

A consumer is opened at the position, receives one message with its whole entry, and is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import PendingSubscription, begin_subscribe, subscribe
from pyspark_pulsar.errors import DeadlineExceeded, PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.runtime import time

_TAKE_SECONDS: Final = 1.0
_TAKE_ALL_SECONDS: Final = 3.0
_AT_ONCE: Final = 100
"""Maximum number of requests at a time. Each answer is a complete entry."""

PartitionPosition = tuple[TopicPartition, Position]
"""A topic partition, and a position in it."""


@dataclass(frozen=True, slots=True)
class FirstEntry:
    """An entry that consumers can see."""

    position: Position
    messages: int
    bytes: int
    """The number of stored, compressed bytes."""
    published_ms: int | None
    """Publish time of the entry, in Unix milliseconds by the producer's clock; None if the time is unreadable."""


def first_entry(
    client: BrokerClient,
    partition: TopicPartition,
    position: Position,
    *,
    read_compacted: bool = False,
    deadline: float | None = None,
) -> FirstEntry | None:
    """Return the first entry at or after a position, in one attempt.

    Args:
        client: The connections to brokers.
        partition: The topic partition.
        position: The position.
        read_compacted: Whether to read the compacted view.
        deadline: Time limit by `time.monotonic`. None means one second from now.

    Returns:
        The entry, or None. Without `deadline`, None means that no entry arrived within a second. With `deadline`, None
        means that the topic has no such entry. For a segment, `DeadlineExceeded` is raised instead.

    Raises:
        ConnectionFailed, PermissionDenied: The broker did not answer, or refused the request.
        DeadlineExceeded: At `deadline`, it was unknown whether such an entry exists.

    """
    consumer = subscribe(client, partition.name, position, read_compacted=read_compacted)
    try:
        consumer.add_permits(1)
        while (entries := consumer.take(_TAKE_SECONDS)) is None and deadline is not None:
            # For a segment, the broker may report an outdated end (`read.log_end`).
            if not partition.is_segment and consumer.end(deadline - time.monotonic()) <= position:
                return None
            if time.monotonic() > deadline:
                raise DeadlineExceeded(
                    f"{partition.name}: expected an entry at or after {position} before the deadline, got none; try "
                    f"again, or raise pollTimeoutMs"
                )
        return _first_of(entries)
    finally:
        consumer.close()


def first_entries(
    client: BrokerClient, positions: Sequence[PartitionPosition]
) -> dict[PartitionPosition, FirstEntry | None]:
    """Return the first entry at or after each position. A hundred requests are sent at a time, with retries.

    Raises:
        ConnectionFailed, PermissionDenied, TopicNotFoundError: A broker did not answer, or refused the request.

    """
    entries: dict[PartitionPosition, FirstEntry | None] = {}
    for begin in range(0, len(positions), _AT_ONCE):
        window = positions[begin : begin + _AT_ONCE]
        client.retrying(partial(_request_rest, client, window, entries, _TAKE_ALL_SECONDS))
    return entries


def first_entries_once(
    client: BrokerClient, positions: Sequence[PartitionPosition]
) -> dict[PartitionPosition, FirstEntry | None]:
    """Return the first entry at or after each of a few positions, in one attempt; None if none arrives within a second.

    Raises:
        ConnectionFailed, PermissionDenied, TopicNotFoundError: A request failed, even if only for one position.

    """
    entries: dict[PartitionPosition, FirstEntry | None] = {}
    _request_rest(client, positions, entries, _TAKE_SECONDS)
    return entries


def _request_rest(
    client: BrokerClient,
    positions: Sequence[PartitionPosition],
    entries: dict[PartitionPosition, FirstEntry | None],
    seconds: float,
) -> None:
    rest = [where for where in positions if where not in entries]
    connections = client.owner_connections({partition.name for partition, _ in rest})
    with ExitStack() as to_close:
        begun: list[PendingSubscription] = []
        for partition, position in rest:
            connection = _connected(connections[partition.name])
            begun.append(begin_subscribe(client, connection, partition.name, position))
            to_close.callback(begun[-1].abandon)
        consumers: list[EntryConsumer] = []
        for subscribing in begun:
            consumers.append(subscribing.consumer())
            consumers[-1].add_permits(1)
        deadline = time.monotonic() + seconds
        for where, consumer in zip(rest, consumers, strict=True):
            entries[where] = _first_of(consumer.take(max(0.0, deadline - time.monotonic())))


def _connected(connection: Connection | PulsarError) -> Connection:
    if isinstance(connection, PulsarError):
        raise connection
    return connection


def _first_of(entries: EntryBatch | None) -> FirstEntry | None:
    """Return the first of the entries, and release the other entries."""
    if entries is None or entries.first is None:
        return None
    ledger, entry = entries.first
    count = len(entries)
    messages, size = -(-entries.num_messages // count), -(-entries.nbytes // count)
    entries.trim((ledger, entry, 0), (ledger, entry + 1, 0))
    published = entries.published
    return FirstEntry(Position(ledger, entry), messages, size, None if published is None else published[0])
