"""Where a durable subscription stands in each topic partition: the start of a query with `startingSubscription`.

Driver only. A cursor says up to where all messages are acknowledged. What is acknowledged one by one behind that, as
consumers of shared subscriptions do, is read again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.requests import in_windows
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import OptionError, PermissionDenied, ProtocolError, PulsarError, SubscriptionBusy
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.log_end import LogEnds

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
    """The first message behind those that are all acknowledged, `ends` where that is none.

    The admin REST API is asked where it may be, else the brokers: for that a consumer joins the subscription for a
    moment, takes nothing and acknowledges nothing. Raises `OptionError` naming the topic partitions that have no such
    subscription, `SubscriptionBusy` where brokers must be asked and another consumer uses it, `PermissionDenied`.
    """
    positions = _from_admin(admin, name, partitions) if admin is not None else None
    if positions is None:
        positions = {}
        for window in in_windows(partitions):
            # What was asked once is not asked again after a passing failure.
            client.retrying(partial(_ask_brokers, client, name, window, positions))
    missing = [partition.name for partition in partitions if positions[partition] is None]
    if missing:
        raise OptionError(
            f"{_OPTION}: expected a durable subscription {name!r} of every topic partition that the query reads, got "
            f"none of {', '.join(missing)}; correct the name, or start by startingOffsets"
        )
    # A cursor in a new and empty ledger is behind the end in the one before.
    return {
        partition: min(start, ends[partition]) for partition, start in positions.items() if start is not None
    }


def skip_removed(
    starts: Mapping[TopicPartition, Position], log_ends: LogEnds
) -> dict[TopicPartition, Position]:
    """Return the positions of a subscription, moved to the first one that is left where their ledger was removed.

    Brokers remove no ledger with entries that a durable subscription has not acknowledged. So its cursor was at the end
    of that ledger, and was left there.
    """
    chosen = {partition: start for partition, start in starts.items() if not start.is_earliest}
    moved = {
        partition: removed.first_left
        for partition, removed in log_ends.removed(chosen).items()
        if removed.is_unclear and removed.first_left is not None
    }
    return {**starts, **moved}


def parse_cursor(stats: Mapping[str, Any], name: str, where: str) -> tuple[Position, str] | None:
    """Of an answer of `internalStats`: the first position that is not acknowledged, and the ranges behind it that are
    (empty: none). None without the subscription. Raises `ProtocolError`."""
    try:
        cursor = stats["cursors"].get(name)
        if cursor is None:
            return None
        ledger, entry = (int(part) for part in str(cursor["markDeletePosition"]).split(":"))
        ranges = str(cursor.get("individuallyDeletedMessages") or "[]")
    except (KeyError, AttributeError, ValueError) as fault:
        raise ProtocolError(
            f"{where}: expected cursors as Pulsar 3.0 and later list them, got another answer ({fault!r})"
        ) from None
    return Position(ledger, entry + 1), ranges[1:-1]


def _from_admin(
    admin: AdminClient, name: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, Position | None] | None:
    """None where this role may not ask."""

    def ask(partition: TopicPartition) -> Position | None:
        where = f"reading the position of subscription {name!r} of {partition}"
        cursor = parse_cursor(admin.topics.internal_stats(partition), name, where)
        if cursor is None:
            return None
        start, ranges = cursor
        if ranges:
            _log.warning(
                "%s: subscription %r has acknowledged messages one by one behind %s (%s). The query begins at %s and "
                "reads them again.",
                partition, name, start, ranges, start,
            )  # fmt: skip
        return start

    try:
        return dict(zip(partitions, map_concurrently(ask, partitions, _AT_ONCE), strict=True))
    except PermissionDenied as fault:
        _log.warning("%s: the brokers are asked where subscription %r stands: %s", _OPTION, name, fault)
        return None


def _ask_brokers(
    client: BrokerClient,
    name: str,
    partitions: list[TopicPartition],
    positions: dict[TopicPartition, Position | None],
) -> None:
    rest = [partition for partition in partitions if partition not in positions]
    durable = _has_durable(client, name, rest)
    positions.update(dict.fromkeys(partition for partition in rest if not durable[partition]))
    joins = [partition for partition in rest if durable[partition]]
    with _begun(client, name, joins, durable=True) as begun:
        for partition, subscribing in begun.items():
            consumer = _joined(subscribing, name)
            deadline = time.monotonic() + client.request_seconds
            positions[partition] = consumer.await_log_end(consumer.request_log_end(), deadline).mark_delete


def _has_durable(
    client: BrokerClient, name: str, partitions: list[TopicPartition]
) -> dict[TopicPartition, bool]:
    """Whether there is a durable subscription of that name, found out without making one: brokers refuse one that is
    not durable beside it."""
    durable: dict[TopicPartition, bool] = {}
    with _begun(client, name, partitions, durable=False) as begun:
        for partition, subscribing in begun.items():
            try:
                subscribing.consumer()
            except OptionError:
                durable[partition] = True
            else:
                durable[partition] = False
    return durable


@contextmanager
def _begun(
    client: BrokerClient, name: str, partitions: list[TopicPartition], *, durable: bool
) -> Iterator[dict[TopicPartition, Subscribing]]:
    """Consumers of the subscription, under way at once. The block's end leaves none behind, whatever fails in it: a
    retry must not find the subscription taken by its own consumers."""
    connections = _connections(client, partitions)
    begun: dict[TopicPartition, Subscribing] = {}
    with ExitStack() as to_end:
        for partition in partitions:
            begun[partition] = begin_subscribe(
                client,
                connections[partition],
                partition.name,
                None,
                subscription=name,
                durable=durable,
            )
            to_end.callback(begun[partition].end, _CLOSE_SECONDS)
        yield begun


def _joined(subscribing: Subscribing, name: str) -> EntryConsumer:
    try:
        return subscribing.consumer()
    except SubscriptionBusy as fault:
        raise SubscriptionBusy(
            f"{_OPTION}: expected subscription {name!r} without consumers, since a broker tells its position only to "
            f"one of them; stop the others, or give admin.url, which tells it in any case: {fault}"
        ) from None


def _connections(client: BrokerClient, partitions: list[TopicPartition]) -> dict[TopicPartition, Any]:
    connections = client.owner_connections(partition.name for partition in partitions)
    for connection in connections.values():
        if isinstance(connection, PulsarError):
            raise connection
    return {partition: connections[partition.name] for partition in partitions}
