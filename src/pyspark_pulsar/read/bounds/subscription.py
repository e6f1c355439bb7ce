"""The positions of a durable subscription, at which a query with `startingSubscription` begins. Driver only.

A cursor contains the position up to which all messages are acknowledged. Consumers of shared subscriptions can also
acknowledge individual messages after the cursor. The query reads these messages again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.requests import in_windows
from pyspark_pulsar.client.broker.subscribe import PendingSubscription, begin_subscribe
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import OptionError, PermissionDenied, ProtocolError, PulsarError, SubscriptionBusy
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.runtime import time

_log: Final = logging.getLogger(__name__)

_AT_ONCE: Final = 8
_CLOSE_SECONDS: Final = 5.0
_OPTION: Final = "option 'startingSubscription'"


def subscription_positions(
    client: BrokerClient,
    admin: AdminClient | None,
    name: str,
    partitions: Sequence[TopicPartition],
    ends: Mapping[TopicPartition, Position],
) -> dict[TopicPartition, Position]:
    """Return the position of each topic partition's first unacknowledged message.

    If all messages of a topic partition are acknowledged, its position is the present end.

    The positions are read from the admin REST API if possible, otherwise from brokers. To read a position from a
    broker, a consumer joins the subscription briefly. This consumer receives and acknowledges no message.

    Args:
        client: A client for the brokers.
        admin: A client for the admin REST API; None without `admin.url`.
        name: The name of the subscription.
        partitions: The topic partitions that the query reads.
        ends: The present ends of these partitions.

    Raises:
        OptionError: Some topic partitions have no such durable subscription.
        SubscriptionBusy: Only brokers can report the position, and another consumer uses the subscription.
        PermissionDenied: This role may not use the subscription.

    """
    positions = _from_admin(admin, name, partitions) if admin is not None else None
    if positions is None:
        positions = {}
        for window in in_windows(partitions):
            # After a temporary failure, the retry keeps the positions that are already known.
            client.retrying(partial(_read_from_brokers, client, name, window, positions))
    missing = [partition.name for partition in partitions if positions[partition] is None]
    if missing:
        raise OptionError(
            f"{_OPTION}: expected a durable subscription {name!r} of every topic partition that the query reads, got "
            f"no subscription of {', '.join(missing)}; correct the name, or start at startingOffsets"
        )
    # If a cursor is in a new, empty ledger, its position is after the end, which is in the previous ledger.
    return {
        partition: min(start, ends[partition]) for partition, start in positions.items() if start is not None
    }


def skip_removed(
    starts: Mapping[TopicPartition, Position], log_ends: LogEnds
) -> dict[TopicPartition, Position]:
    """Return each position of a subscription, or the first existing message if the position's ledger was removed.

    Brokers keep a ledger until each durable subscription has acknowledged its entries. So the cursor was at the end of
    the removed ledger, and nothing is lost.
    """
    chosen = {partition: start for partition, start in starts.items() if not start.is_earliest}
    moved = {
        partition: removed.first_left
        for partition, removed in log_ends.removed(chosen).items()
        if removed.is_unclear and removed.first_left is not None
    }
    return {**starts, **moved}


def parse_cursor(stats: Mapping[str, Any], name: str, where: str) -> tuple[Position, str] | None:
    """Return a cursor from an answer of `internalStats`, or None if the subscription does not exist.

    Returns:
        The first position that is not acknowledged, and the acknowledged ranges after it (empty if there are none).

    Raises:
        ProtocolError: The answer cannot be parsed.

    """
    try:
        cursor = stats["cursors"].get(name)
        if cursor is None:
            return None
        ledger, entry = (int(part) for part in str(cursor["markDeletePosition"]).split(":"))
        ranges = str(cursor.get("individuallyDeletedMessages") or "[]")
    except (KeyError, AttributeError, ValueError) as fault:
        raise ProtocolError(
            f"{where}: expected cursors as Pulsar 3.0 and later list them, got another answer ({fault!r}); "
            f"check that admin.url names the admin REST API of Pulsar"
        ) from None
    return Position(ledger, entry + 1), ranges[1:-1]


def _from_admin(
    admin: AdminClient, name: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, Position | None] | None:
    """Return the positions from the admin REST API, or None if this role may not read them."""

    def read_cursor(partition: TopicPartition) -> Position | None:
        where = f"reading the position of subscription {name!r} of {partition}"
        cursor = parse_cursor(admin.topics.internal_stats(partition), name, where)
        if cursor is None:
            return None
        start, ranges = cursor
        if ranges:
            _log.warning(
                "Subscription %r has acknowledged messages individually after its position. The query begins at this "
                "position, and reads these messages again: %s, position %s, acknowledged ranges %s",
                name, partition, start, ranges,
            )  # fmt: skip
        return start

    try:
        return dict(zip(partitions, map_concurrently(read_cursor, partitions, _AT_ONCE), strict=True))
    except PermissionDenied as fault:
        _log.warning(
            "Reading the position of subscription %r from the brokers, because the admin REST API refuses: %s",
            name,
            fault,
        )
        return None


def _read_from_brokers(
    client: BrokerClient,
    name: str,
    partitions: list[TopicPartition],
    positions: dict[TopicPartition, Position | None],
) -> None:
    rest = [partition for partition in partitions if partition not in positions]
    durable = _has_durable(client, name, rest)
    positions.update(dict.fromkeys(partition for partition in rest if not durable[partition]))
    joins = [partition for partition in rest if durable[partition]]
    with _subscribe_all(client, name, joins, durable=True) as started:
        for partition, subscribing in started.items():
            consumer = _joined(subscribing, name)
            deadline = time.monotonic() + client.request_seconds
            positions[partition] = consumer.await_log_end(consumer.request_log_end(), deadline).mark_delete


def _has_durable(
    client: BrokerClient, name: str, partitions: list[TopicPartition]
) -> dict[TopicPartition, bool]:
    """Return whether each partition has a durable subscription of this name.

    The check creates no durable subscription. Brokers refuse a non-durable subscription if a durable subscription has
    the same name.
    """
    durable: dict[TopicPartition, bool] = {}
    with _subscribe_all(client, name, partitions, durable=False) as started:
        for partition, subscribing in started.items():
            try:
                subscribing.consumer()
            except OptionError:
                durable[partition] = True
            else:
                durable[partition] = False
    return durable


@contextmanager
def _subscribe_all(
    client: BrokerClient, name: str, partitions: list[TopicPartition], *, durable: bool
) -> Iterator[dict[TopicPartition, PendingSubscription]]:
    """Start to subscribe consumers, all at the same time. When the block ends or fails, all consumers are closed.

    Otherwise a retry would find the subscription in use by the consumers of the previous attempt.
    """
    connections = _connections(client, partitions)
    started: dict[TopicPartition, PendingSubscription] = {}
    with ExitStack() as to_end:
        for partition in partitions:
            started[partition] = begin_subscribe(
                client,
                connections[partition],
                partition.name,
                None,
                subscription=name,
                durable=durable,
            )
            to_end.callback(started[partition].end, _CLOSE_SECONDS)
        yield started


def _joined(subscribing: PendingSubscription, name: str) -> EntryConsumer:
    try:
        return subscribing.consumer()
    except SubscriptionBusy as fault:
        raise SubscriptionBusy(
            f"{_OPTION}: expected subscription {name!r} without consumers, got another consumer ({fault}). A broker "
            f"reports the position only to the subscription's consumer; stop the other consumers, or set admin.url"
        ) from None


def _connections(client: BrokerClient, partitions: list[TopicPartition]) -> dict[TopicPartition, Any]:
    connections = client.owner_connections(partition.name for partition in partitions)
    for connection in connections.values():
        if isinstance(connection, PulsarError):
            raise connection
    return {partition: connections[partition.name] for partition in partitions}
