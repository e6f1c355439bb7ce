"""The cursors of the query's subscription (`subscriptionName`), which follow Spark's commits. Driver only.

A cursor moves only after the micro-batch is in Spark's commit log. So a cursor may lag the query, but is never ahead of
the query, even after a crash. Pulsar keeps the messages after the cursor. The cursor delivers no messages to the query
and never moves back. The options and the checkpoint determine where a query begins and continues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscription import Cursor, hold_cursor
from pyspark_pulsar.client.retries import retry
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import ConnectionFailed, SubscriptionBusy
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.runtime import Future

_AT_ONCE: Final = 8
# Maximum time until a broker notices that the previous process with this cursor has ended.
_BUSY_SECONDS: Final = 10.0

HasMessagesBefore = Callable[[TopicPartition, Position, Position], bool]
"""A function that returns whether a partition has messages from one position (inclusive) to another (exclusive)."""

_log: Final = logging.getLogger(__name__)


class SubscriptionCursors:
    """The cursors in all topic partitions of a query, which use the subscription until `close`. Used by one thread."""

    def __init__(
        self,
        client: BrokerClient,
        subscription: str,
        has_messages: HasMessagesBefore,
        *,
        is_replicated: bool = False,
    ) -> None:
        """Store the arguments. `is_replicated` means that the subscription also moves in the topics' other clusters."""
        self._client = client
        self._subscription = subscription
        self._is_replicated = is_replicated
        self._has_messages = has_messages
        self._cursors: dict[TopicPartition, Cursor] = {}
        self._reached: dict[TopicPartition, Position] = {}
        self._known: set[TopicPartition] = set()

    def follow(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Keep all messages from `positions` on, and acknowledge the messages before `positions`.

        The subscription of a new topic partition is created before Spark plans to read the partition.

        Raises:
            SubscriptionBusy, PermissionDenied: A broker refuses the cursor.
            ConnectionFailed: A broker does not answer a request for a new partition. For a known partition, the failure
                is only logged, because a cursor that lags for a while does no harm.

        """
        for partition in self._cursors.keys() - positions.keys():
            self._cursors.pop(partition).close()
        missing = [partition for partition in positions if not self._is_held(partition)]
        new = [partition for partition in missing if partition not in self._known]
        self._hold_new(new)
        self._hold_again([partition for partition in missing if partition in self._known])
        for partition in new:
            self._warn_if_ahead(partition, positions[partition])
        self._known.update(new)
        self.acknowledge(positions)

    def acknowledge(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Acknowledge the messages before `positions`, for the cursors that are open.

        Raises:
            SubscriptionBusy, PermissionDenied: A broker refuses the cursor.

        """
        sent: list[tuple[TopicPartition, Position, Future[Any]]] = []
        for partition, position in positions.items():
            cursor = self._cursors.get(partition)
            if cursor is None or position.is_earliest or self._reached.get(partition) == position:
                continue
            try:
                sent.append((partition, position, cursor.acknowledge(position)))
            except ConnectionFailed as fault:
                _warn_of_lag(partition, fault)
        for partition, position, answer in sent:
            try:
                self._cursors[partition].settle(answer)
                self._reached[partition] = position
            except ConnectionFailed as fault:
                _warn_of_lag(partition, fault)
        if self._is_replicated:
            self._look_ahead()

    def positions(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Position]:
        """Return the position of each cursor. Brokers do not remove the messages after a cursor.

        Raises the errors of `follow`, and `ConnectionFailed` if a broker does not answer.
        """

        def position(partition: TopicPartition) -> Position:
            if self._is_held(partition):
                return self._cursors[partition].position()
            cursor = self._client.retrying(lambda: self._hold_one(partition))
            try:
                return cursor.position()
            finally:
                cursor.close()

        return dict(zip(partitions, map_concurrently(position, list(partitions), _AT_ONCE), strict=True))

    def _look_ahead(self) -> None:
        for partition, cursor in self._cursors.items():
            try:
                cursor.look_ahead()
            except ConnectionFailed as fault:
                _warn_of_lag(partition, fault)

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
            # The cursor is stored immediately, so that `close` finds it if another partition's cursor fails.
            self._cursors[partition] = self._client.retrying(lambda: self._hold_one(partition))

        map_concurrently(hold, partitions, _AT_ONCE)

    def _hold_again(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            try:
                self._cursors[partition] = self._hold_one(partition)
            except ConnectionFailed as fault:
                _warn_of_lag(partition, fault)

    def _hold_one(self, partition: TopicPartition) -> Cursor:
        return retry(
            lambda: hold_cursor(
                self._client, partition.name, self._subscription, is_replicated=self._is_replicated
            ),
            SubscriptionBusy,
            lambda _: _BUSY_SECONDS,
        )

    def _warn_if_ahead(self, partition: TopicPartition, position: Position) -> None:
        cursor = self._cursors[partition].position()
        if cursor <= position or not self._has_messages(partition, position, cursor):
            return
        _log.warning(
            "Messages are read again, unless retention has removed them, because the query begins before its "
            "subscription's position. Another query or consumer has used the subscription, or the checkpoint is older "
            "than the subscription: %s, subscription %r at %s, query at %s",
            partition, self._subscription, cursor, position,
        )  # fmt: skip


def _warn_of_lag(partition: TopicPartition, fault: ConnectionFailed) -> None:
    _log.warning("Moving the subscription failed; the next micro-batch moves it: %s: %s", partition, fault)
