"""Consumers of the ranges that a task comes to next. Executor only.

A task of many small splits would wait for a broker three times in each: to be told who owns the topic partition, for
the subscription, and for the entries. So the owners of many are looked up in one piece, and while one range is read,
the consumers of the next ones are made. Each goes through these states:

    state         what the broker may send           goes on when
    SUBSCRIBING   nothing                            it has answered, which `advance` and `take` see: SENDING
    SENDING       the messages of a range in one     the task comes to the range: `take` gives the consumer to its
                  ledger, once; of others nothing    reader (`broker.BrokerEntries`), which gives it more permits
    dropped       -                                  what fails or fills the connection's buffer, and what the task has
                                                     passed over

Nobody waits for them, except `take` for the answer to a subscription, and `advance` for lookups, some seconds at most.
What fails here is as if it had not been tried: the reader of the range looks up and subscribes itself, with all its
patience, and what it raises is what counts.

What waits for all of them is about `MOST_BYTES`, by what the plan knows of their sizes. Where it is wrong, the
connection's buffer is full, and nothing is received any more. The reader that starves then has all of them dropped
(`make_room`), and for the rest of the task none sends before it is taken.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.split import ENTRY_BYTES, Split

AT_ONCE: Final = 8
"""Consumers ahead; the broker is done with one while the task decodes another."""
FOR_LIMIT: Final = 2
"""The same where few rows are wanted, which the present range may have already."""
MOST_BYTES: Final = 4 << 20
"""Of entries that wait for all of them."""
LOOKUPS: Final = 64
"""Topic partitions whose owners are looked up in one piece."""

_LOOKUP_SECONDS: Final = 2.0

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Ahead:
    """The consumer of one split's first range, SUBSCRIBING or SENDING."""

    subscribing: Subscribing
    messages: int
    """What the broker may send before the range is read; 0 of a range of which nobody knows how much it is."""
    size: int
    """Bytes, about."""
    consumer: EntryConsumer | None = None
    granted: int = 0

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.close()
        else:
            self.subscribing.abandon()


class ConsumersAhead:
    """Of the splits of one task, which reads them in order. Used by its thread; close it."""

    def __init__(self, client: BrokerClient, options: ReadOptions, splits: Sequence[Split]) -> None:
        """Those that begin anywhere but at the broker are passed over."""
        self._client = client
        self._permits = options.receiver_queue_size
        self._read_compacted = options.read_compacted
        self._most = AT_ONCE if options.limit is None else FOR_LIMIT
        self._splits = splits
        self._next = 0
        """The first split that was not tried."""
        self._looked_up = 0
        """The first split whose owner was not looked up."""
        self._connections: dict[str, Connection] = {}
        self._ahead: dict[int, _Ahead] = {}
        """By the number of the split, in order."""
        self._sends = True

    def advance(self, number: int) -> None:
        """The task begins with this split: begin further ones, and let those send that were answered. Never raises for
        what happens ahead."""
        for passed in [index for index in self._ahead if index < number]:
            self._ahead.pop(passed).close()
        # A single split has nothing ahead, and is best left to its reader.
        if len(self._splits) < 2:  # noqa: PLR2004
            return
        self._next = max(self._next, number)
        try:
            while self._next < len(self._splits) and len(self._ahead) <= self._most:
                self._begin(self._next)
                self._next += 1
        except PulsarError as fault:
            _log.debug("no consumer of a further range: %s", fault)
            self._next += 1
        self._let_send()

    def take(self, partition: TopicPartition, start: Position) -> tuple[EntryConsumer, int] | None:
        """The consumer of the range that begins there, and how many messages it may be sent in all; None where there is
        none, or its subscription failed. Waits for that, as long as a request may take."""
        number = next(iter(self._ahead), None)
        if number is None or not _begins(self._splits[number], partition, start):
            return None
        ahead = self._ahead.pop(number)
        try:
            consumer = ahead.consumer or ahead.subscribing.consumer()
        except PulsarError as fault:
            _log.debug("%s: the consumer ahead failed: %s", partition, fault)
            ahead.close()
            return None
        if not consumer.is_open:
            consumer.close()
            return None
        self._let_send()
        return consumer, ahead.granted

    def make_room(self) -> None:
        """What waits for consumers ahead may fill the connection's buffer: let go of it."""
        self._sends = False
        self.close()

    def close(self) -> None:
        """All that were not taken."""
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
        self._ahead[number] = _Ahead(subscribing, messages, size)

    def _follows(self, number: int) -> bool:
        """Whether the split goes on where the one before it ends: brokers may limit the subscriptions of a topic."""
        return number > 0 and self._splits[number - 1].partition == self._splits[number].partition

    def _connection(self, number: int) -> Connection | None:
        """To the owner of the split's topic partition; None where it is not known."""
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

    def _let_send(self) -> None:
        """Those that were answered, as far as there is room."""
        if not self._sends:
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
                _log.debug("a consumer of a further range failed: %s", fault)
                self._ahead.pop(number).close()
                continue
            ahead.granted = ahead.messages


def _begins(split: Split, partition: TopicPartition, start: Position) -> bool:
    return split.partition == partition and split.ranges[0].start == start


def _messages(split: Split, permits: int) -> int:
    """Permits for a range in one ledger: the broker sends no more entries than these, which is all, or one more."""
    split_range = split.ranges[0]
    if split_range.start.ledger != split_range.end.ledger:
        return 0
    return max(1, min(permits, split_range.end.entry - split_range.start.entry + 1))
