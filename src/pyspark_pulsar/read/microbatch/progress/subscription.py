"""The cursors of the subscription that `subscriptionName` names: they follow what Spark has committed. Driver only.

A cursor is moved on only after the micro-batch is in Spark's commit log, so it lags behind the query and never leads,
whatever crashes in between; what it has not passed, Pulsar keeps. It gives no messages to the query and is never moved
back: where a query begins and goes on is what its options and its checkpoint say.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscription import Cursor, hold_cursor
from pyspark_pulsar.client.retries import retry
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import ConnectionFailed, SubscriptionBusy
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition

_AT_ONCE: Final = 8
# How long a broker may take to notice that the process that held the cursor before is gone.
_BUSY_SECONDS: Final = 10.0

HasMessagesBefore = Callable[[TopicPartition, Position, Position], bool]
"""Whether a topic partition has messages from the first position (inclusive) to the second (exclusive)."""

_log: Final = logging.getLogger(__name__)


class SubscriptionCursors:
    """Of all topic partitions of a query. Used by one thread; holds the subscription until it is closed."""

    def __init__(
        self,
        client: BrokerClient,
        subscription: str,
        has_messages: HasMessagesBefore,
        *,
        is_replicated: bool = False,
    ) -> None:
        """`is_replicated`: it is to move in the clusters that the topics are replicated to as well."""
        self._client = client
        self._subscription = subscription
        self._is_replicated = is_replicated
        self._has_messages = has_messages
        self._cursors: dict[TopicPartition, Cursor] = {}
        self._reached: dict[TopicPartition, Position] = {}
        self._met: set[TopicPartition] = set()

    def follow(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Make sure that nothing from `positions` on is removed, and say that what lies before is read.

        The first time for a topic partition, its subscription is made; it must be there before Spark plans to read
        from it. Raises `SubscriptionBusy`, `PermissionDenied` and, only for partitions that are new,
        `ConnectionFailed`: a cursor that stays behind for a while does no harm.
        """
        for partition in self._cursors.keys() - positions.keys():
            self._cursors.pop(partition).close()
        missing = [partition for partition in positions if not self._is_held(partition)]
        new = [partition for partition in missing if partition not in self._met]
        self._hold_new(new)
        self._hold_again([partition for partition in missing if partition in self._met])
        for partition in new:
            self._tell_if_ahead(partition, positions[partition])
        self._met.update(new)
        self.acknowledge(positions)

    def acknowledge(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Say that what lies before `positions` is read, where the cursor is held. Raises as `follow` does."""
        sent: list[tuple[TopicPartition, Position, Future[Any]]] = []
        for partition, position in positions.items():
            cursor = self._cursors.get(partition)
            if cursor is None or position.is_earliest or self._reached.get(partition) == position:
                continue
            try:
                sent.append((partition, position, cursor.acknowledge(position)))
            except ConnectionFailed as fault:
                _tell_behind(partition, fault)
        for partition, position, answer in sent:
            try:
                self._cursors[partition].settle(answer)
                self._reached[partition] = position
            except ConnectionFailed as fault:
                _tell_behind(partition, fault)
        if self._is_replicated:
            self._look_ahead()

    def _look_ahead(self) -> None:
        for partition, cursor in self._cursors.items():
            try:
                cursor.look_ahead()
            except ConnectionFailed as fault:
                _tell_behind(partition, fault)

    def close(self) -> None:
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()

    def _is_held(self, partition: TopicPartition) -> bool:
        cursor = self._cursors.get(partition)
        if cursor is None:
            return False
        if not cursor.is_open:
            self._cursors.pop(partition).close()
            self._reached.pop(partition, None)
            self._client.forget_owner(partition.name)
            return False
        return True

    def _hold_new(self, partitions: list[TopicPartition]) -> None:
        if not partitions:
            return

        def hold(partition: TopicPartition) -> None:
            # Kept at once, so that `close` finds it if another one fails.
            self._cursors[partition] = self._client.retrying(lambda: self._hold_one(partition))

        map_concurrently(hold, partitions, _AT_ONCE)

    def _hold_again(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            try:
                self._cursors[partition] = self._hold_one(partition)
            except ConnectionFailed as fault:
                _tell_behind(partition, fault)

    def _hold_one(self, partition: TopicPartition) -> Cursor:
        return retry(
            lambda: hold_cursor(
                self._client, partition.name, self._subscription, is_replicated=self._is_replicated
            ),
            SubscriptionBusy,
            lambda _: _BUSY_SECONDS,
        )

    def _tell_if_ahead(self, partition: TopicPartition, position: Position) -> None:
        cursor = self._cursors[partition].position()
        if cursor <= position or not self._has_messages(partition, position, cursor):
            return
        _log.warning(
            "%s: subscription %r stands at %s, but the query goes on at %s, as its checkpoint or its starting offsets "
            "say. What lies between is read again, as far as retention has not removed it: the subscription did not "
            "keep it. It was used by another query or consumer, or this checkpoint is older than it.",
            partition, self._subscription, cursor, position,
        )  # fmt: skip


def _tell_behind(partition: TopicPartition, fault: ConnectionFailed) -> None:
    _log.warning("%s: the cursor stays behind until the next micro-batch: %s", partition, fault)
