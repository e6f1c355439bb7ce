"""The first entry at a position: where it is, how old it is, and how much it holds. Driver and executors.

Everybody who wants to see one entry asks here. A consumer is opened at the position, is sent one message, which brings
its whole entry, and is closed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe, subscribe
from pyspark_pulsar.errors import DeadlineExceeded, PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition

_TAKE_SECONDS: Final = 1.0
_TAKE_ALL_SECONDS: Final = 3.0
_AT_ONCE: Final = 100
"""So many entries may be under way; each is whole."""

Place = tuple[TopicPartition, Position]


@dataclass(frozen=True, slots=True)
class FirstEntry:
    """An entry that consumers can see."""

    position: Position
    messages: int
    bytes: int
    """As stored, compressed."""
    published_ms: int | None
    """Of all its messages: Unix milliseconds by the producer's clock. None where damage hides it."""


def first_entry(
    client: BrokerClient,
    partition: TopicPartition,
    position: Position,
    *,
    read_compacted: bool = False,
    deadline: float | None = None,
) -> FirstEntry | None:
    """One attempt; None when none comes within a second. With `deadline` (of `time.monotonic`) None only when the topic
    has none there, which nobody knows of a segment, and `DeadlineExceeded` when neither was certain by then.

    Raises `ConnectionFailed`, `PermissionDenied`.
    """
    consumer = subscribe(client, partition.name, position, read_compacted=read_compacted)
    try:
        consumer.add_permits(1)
        while (entries := consumer.take(_TAKE_SECONDS)) is None and deadline is not None:
            # Of a segment the broker may tell an end of former times (`read.log_end`).
            if not partition.is_segment and consumer.end(deadline - time.monotonic()) <= position:
                return None
            if time.monotonic() > deadline:
                raise DeadlineExceeded(
                    f"no entry of {partition.name} came in time: expected the first one at {position} or behind it"
                )
        return _seen(entries)
    finally:
        consumer.close()


def first_entries(client: BrokerClient, places: Sequence[Place]) -> dict[Place, FirstEntry | None]:
    """`first_entry` at many places, a hundred at a time, tried again after a passing failure.

    Raises `ConnectionFailed`, `PermissionDenied`, `TopicNotFoundError`.
    """
    entries: dict[Place, FirstEntry | None] = {}
    for begin in range(0, len(places), _AT_ONCE):
        window = places[begin : begin + _AT_ONCE]
        client.retrying(partial(_ask_rest, client, window, entries, _TAKE_ALL_SECONDS))
    return entries


def first_entries_once(client: BrokerClient, places: Sequence[Place]) -> dict[Place, FirstEntry | None]:
    """`first_entry` at a few places, asked together: one attempt, and None where none comes within a second.

    Raises `ConnectionFailed`, `PermissionDenied`, `TopicNotFoundError`, also of one of them.
    """
    entries: dict[Place, FirstEntry | None] = {}
    _ask_rest(client, places, entries, _TAKE_SECONDS)
    return entries


def _ask_rest(
    client: BrokerClient,
    places: Sequence[Place],
    entries: dict[Place, FirstEntry | None],
    seconds: float,
) -> None:
    rest = [place for place in places if place not in entries]
    connections = client.owner_connections({partition.name for partition, _ in rest})
    with ExitStack() as to_close:
        begun: list[Subscribing] = []
        for partition, position in rest:
            connection = _connected(connections[partition.name])
            begun.append(begin_subscribe(client, connection, partition.name, position))
            to_close.callback(begun[-1].abandon)
        consumers: list[EntryConsumer] = []
        for subscribing in begun:
            consumers.append(subscribing.consumer())
            consumers[-1].add_permits(1)
        deadline = time.monotonic() + seconds
        for place, consumer in zip(rest, consumers, strict=True):
            entries[place] = _seen(consumer.take(max(0.0, deadline - time.monotonic())))


def _connected(connection: Connection | PulsarError) -> Connection:
    if isinstance(connection, PulsarError):
        raise connection
    return connection


def _seen(entries: EntryBatch | None) -> FirstEntry | None:
    """Takes the entries over."""
    if entries is None or entries.first is None:
        return None
    ledger, entry = entries.first
    count = len(entries)
    messages, size = -(-entries.num_messages // count), -(-entries.nbytes // count)
    entries.trim((ledger, entry, 0), (ledger, entry + 1, 0))
    published = entries.published
    return FirstEntry(Position(ledger, entry), messages, size, None if published is None else published[0])
