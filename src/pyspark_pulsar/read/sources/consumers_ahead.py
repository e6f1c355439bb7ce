"""Consumers for the next ranges of a task, prepared while the task reads the present range. Executor only.

Without these consumers, a task would wait for a broker three times per split: for the partition's owner, the
subscription, and the entries. These waits would delay a task of many small splits. So the owners of many partitions are
looked up together. While the task reads one range, the consumers of the next ranges are created. Each consumer goes
through these states:

    state         the broker may send                next state
    SUBSCRIBING   nothing                            SENDING, when it has answered and `advance` or `take` is called
    SENDING       once, the messages of a range in   used: when the task begins the range, `take` passes the consumer
                  one ledger; otherwise nothing      to its reader (`broker.BrokerEntries`), which grants permits
    dropped       -                                  after a failure, when the connection's buffer is full, and when
                                                     the task has passed the range

The task does not wait for these consumers, with two exceptions. `take` waits for the answer to a subscription.
`advance` waits for lookups, a few seconds at most. Failures of prepared consumers have no effect, because the reader of
the range repeats the lookup and the subscription with its full timeout. Only the reader's errors are raised.

The buffered entries of all prepared consumers together have about `MOST_BYTES`, estimated from the plan. If these sizes
are wrong, the connection's buffer fills up, and no entries are received. Then the reader that waits for entries drops
all prepared consumers (`make_room`). For the rest of the task, brokers send nothing to a prepared consumer before it is
used.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import PendingSubscription, begin_subscribe
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.split import ENTRY_BYTES, Split
from pyspark_pulsar.runtime import time

AT_ONCE: Final = 8
"""Maximum number of prepared consumers.

A broker can send entries to one consumer while the task decodes the entries of another consumer.
"""
FOR_LIMIT: Final = 2
"""Maximum number of prepared consumers for a query with a limit. The present range may already contain enough rows."""
MOST_BYTES: Final = 4 << 20
"""Maximum bytes of entries that wait for all prepared consumers together."""
LOOKUPS: Final = 64
"""Number of topic partitions whose owners are looked up together."""

_LOOKUP_SECONDS: Final = 2.0

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _ConsumerAhead:
    """The consumer of one split's first range, in state SUBSCRIBING or SENDING."""

    subscribing: PendingSubscription
    messages: int
    """Number of messages that the broker may send before the range is read; 0 if the range's size is unknown."""
    size: int
    """Estimated size of the messages in bytes."""
    consumer: EntryConsumer | None = None
    granted: int = 0

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.close()
        else:
            self.subscribing.abandon()


class ConsumersAhead:
    """The prepared consumers of one task, which reads its splits in order. Used and closed by the task's thread."""

    def __init__(self, client: BrokerClient, options: ReadOptions, splits: Sequence[Split]) -> None:
        """Store the arguments. Splits that begin at another location than the broker get no consumer."""
        self._client = client
        self._permits = options.receiver_queue_size
        self._read_compacted = options.read_compacted
        self._most = AT_ONCE if options.limit is None else FOR_LIMIT
        self._splits = splits
        self._next = 0
        """The number of the first split for which no consumer was attempted yet."""
        self._looked_up = 0
        """The number of the first split whose owner was not looked up yet."""
        self._connections: dict[str, Connection] = {}
        self._ahead: dict[int, _ConsumerAhead] = {}
        """The prepared consumers by the number of their split, in order."""
        self._may_send = True

    def advance(self, number: int) -> None:
        """Prepare consumers for the splits after split `number`, which the task begins now.

        Errors of these consumers are only logged.
        """
        for passed in [index for index in self._ahead if index < number]:
            self._ahead.pop(passed).close()
        # If the task has only one split, its reader subscribes immediately.
        if len(self._splits) < 2:  # noqa: PLR2004
            return
        self._next = max(self._next, number)
        try:
            while self._next < len(self._splits) and len(self._ahead) <= self._most:
                self._begin(self._next)
                self._next += 1
        except PulsarError as fault:
            _log.debug("preparing a consumer for a later range failed: %s", fault)
            self._next += 1
        self._grant_permits()

    def take(self, partition: TopicPartition, start: Position) -> tuple[EntryConsumer, int] | None:
        """Return the consumer of the range that begins at `start`, and the number of messages that it may receive.

        The method waits for the answer to the subscription. None means that no consumer was prepared, or that the
        consumer failed.
        """
        number = next(iter(self._ahead), None)
        if number is None or not _begins(self._splits[number], partition, start):
            return None
        ahead = self._ahead.pop(number)
        try:
            consumer = ahead.consumer or ahead.subscribing.consumer()
        except PulsarError as fault:
            _log.debug("a prepared consumer failed: %s: %s", fault, partition)
            ahead.close()
            return None
        if not consumer.is_open:
            consumer.close()
            return None
        self._grant_permits()
        return consumer, ahead.granted

    def make_room(self) -> None:
        """Drop all prepared consumers, because their entries may fill the connection's buffer."""
        self._may_send = False
        self.close()

    def close(self) -> None:
        """Close all consumers that were not used."""
        while self._ahead:
            self._ahead.popitem()[1].close()

    def _begin(self, number: int) -> None:
        split = self._splits[number]
        if not split.ranges[0].location.is_broker or self._follows(number):
            return
        connection = self._connection(number)
        if connection is None:
            return
        start, messages = split.ranges[0].start, _messages(split, self._permits)
        size = split.size if split.size is not None else messages * ENTRY_BYTES
        subscribing = begin_subscribe(
            self._client, connection, split.partition.name, start, read_compacted=self._read_compacted
        )
        self._ahead[number] = _ConsumerAhead(subscribing, messages, size)

    def _follows(self, number: int) -> bool:
        """Return whether the split continues the previous split's partition.

        If so, no consumer is prepared for the split, because brokers may limit the number of subscriptions of a topic.
        """
        return number > 0 and self._splits[number - 1].partition == self._splits[number].partition

    def _connection(self, number: int) -> Connection | None:
        """Return a connection to the owner of the split's topic partition; None if the owner is unknown."""
        if number >= self._looked_up:
            window = self._splits[number : number + LOOKUPS]
            self._looked_up = number + len(window)
            names = {split.partition.name for split in window if split.ranges[0].location.is_broker}
            self._connections.clear()
            with self._client.until(time.monotonic() + _LOOKUP_SECONDS):
                answers = self._client.owner_connections(sorted(names))
            self._connections.update(
                {name: answer for name, answer in answers.items() if not isinstance(answer, PulsarError)}
            )
        return self._connections.get(self._splits[number].partition.name)

    def _grant_permits(self) -> None:
        """Grant permits to subscribed consumers, until `MOST_BYTES` are granted."""
        if not self._may_send:
            return
        room = MOST_BYTES - sum(ahead.size for ahead in self._ahead.values() if ahead.granted)
        for number, ahead in list(self._ahead.items()):
            if ahead.granted or not ahead.messages or not ahead.subscribing.is_answered:
                continue
            room -= ahead.size
            if room < 0:
                return
            try:
                ahead.consumer = ahead.subscribing.consumer()
                ahead.consumer.add_permits(ahead.messages)
            except PulsarError as fault:
                _log.debug("a prepared consumer failed: %s", fault)
                self._ahead.pop(number).close()
                continue
            ahead.granted = ahead.messages


def _begins(split: Split, partition: TopicPartition, start: Position) -> bool:
    return split.partition == partition and split.ranges[0].start == start


def _messages(split: Split, permits: int) -> int:
    """Return the permits for a range in one ledger. A broker sends at most one entry for each permit."""
    split_range = split.ranges[0]
    if split_range.start.ledger != split_range.end.ledger:
        return 0
    return max(1, min(permits, split_range.end.entry - split_range.start.entry + 1))
