"""Consumers that begin farther ahead in a range while an earlier part of the range is read. Executor only.

For one consumer, a broker reads at most a hundred entries (`dispatcherMaxReadBatchSize`) and sends them. After that,
the broker requests the next entries from the bookies. With small entries, these steps last longer than the transfer of
the messages. So several consumers are faster. Each consumer begins one part after the previous consumer
(`docs/decisions/0027`).

The range is cut into parts while it is read, because the size of entries is known only after some are received
(`EntrySize.part`):

    reached            border                                                        end
       |------ read -----|----- ahead 1 -----|----- ahead 2 -----|-- not begun yet ----|

The reader of the range (`broker.BrokerEntries`) reads its own consumer up to the border, and then takes over the next
consumer. Each consumer ahead goes through these states:

    state         the broker may send               next state
    SUBSCRIBING   nothing                           SENDING, when it has answered and `refill` or `take_over` is called;
                                                    after a refusal, all are dropped, and no more begin for this range
    SENDING       one part's messages, once; they   used: at the border, `take_over` passes it to the reader, which
                  wait                              grants more permits from then on
    dropped       -                                 after a failure, when the connection's buffer is full, and when the
                                                    reader subscribes again; later ones are dropped with it

The reader does not wait for these consumers. Only `take_over` waits for the answer to a subscription. If the consumers
are dropped, the reader continues alone. The reader's border is then the end of the range, and the reader receives the
entries of the dropped consumers again. A new consumer begins only after the reader has reached the start of the
farthest dropped consumer (`_not_before`). Otherwise consumers could be started and dropped without end.

No entry is lost, because a consumer ahead subscribes at the border, and the previous consumer is read up to this
border. No row appears twice, because entries after the border are dropped by position when the next consumer returns
them (`task.audit.RangeTally.take`). There are few such entries, because the reader grants hardly more permits than it
needs to reach the border.

The start of a part is a guess, extrapolated from the entry ids of the present ledger. If the ledger ends before the
start, the broker begins with the next ledger. The previous consumer reaches the next ledger, too. So at each end of a
ledger, up to one part of entries is sent twice. For long ledgers, this cost is small. In a topic of short ledgers,
consumers begin ahead only in the last ledger of the range, whose end is known. Received positions show whether ledgers
are short (`_short_ledgers`). If the actual beginning of the last consumer is unknown, no further consumer begins until
the first entry of the last consumer has arrived.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import PendingSubscription, begin_subscribe
from pyspark_pulsar.errors import ConnectionFailed, PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position

PART_BYTES: Final = 4 * 1024 * 1024
"""Maximum bytes of waiting entries per consumer ahead, estimated from the size of received entries."""
MOST_ENTRIES: Final = 10_000
"""Maximum number of entries in a part. If a ledger ends inside a part, the rest of that part is sent twice."""
LEAST_PARTS: Final = 4
"""Minimum number of parts in a ledger. A ledger with fewer parts is short."""
LEAST_ENTRIES: Final = 500
"""Minimum number of entries in a part. A smaller part is not worth a subscription. Parts of large entries are small."""

# The answer may wait in the connection until earlier entries are read.
_SETTLE_SECONDS: Final = 1.0

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EntrySize:
    """The mean size of the received entries."""

    messages: float
    nbytes: float

    def part(self, permits: int) -> int:
        """Return the number of entries in a part, which is the number of entries that may wait for one consumer."""
        by_messages = permits / max(1.0, self.messages)
        by_bytes = PART_BYTES / max(1.0, self.nbytes)
        return int(min(by_messages, by_bytes, MOST_ENTRIES))


@dataclass(slots=True)
class _PrefetchingConsumer:
    """A consumer in state SUBSCRIBING or SENDING."""

    start: Position
    entries: int
    """Number of entries in the consumer's part."""
    messages: int
    """Number of messages that the broker may send before the reader takes over."""
    subscribing: PendingSubscription
    consumer: EntryConsumer | None = None

    def settle(self) -> EntryConsumer:
        """Wait for the broker's answer, and grant the permits. Raise the errors of `PendingSubscription.consumer`."""
        if self.consumer is None:
            self.consumer = self.subscribing.consumer(_SETTLE_SECONDS)
            self.consumer.add_permits(self.messages)
        return self.consumer

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.close()
        else:
            self.subscribing.abandon()


class PrefetchingConsumers:
    """The consumers ahead in the range up to `end` (exclusive). Used by the thread that reads the range."""

    def __init__(self, client: BrokerClient, topic: str, end: Position, *, permits: int, most: int) -> None:
        """Store the arguments.

        Args:
            client: The connections to brokers.
            topic: The name of the topic partition.
            end: The end of the range.
            permits: Maximum number of messages that wait for one consumer.
            most: Maximum number of consumers ahead.

        """
        self._client = client
        self._topic = topic
        self._end = end
        self._permits = permits
        self._most = most
        self._consumers: deque[_PrefetchingConsumer] = deque()
        self._not_before = EARLIEST
        self._short_ledgers = False

    @property
    def border(self) -> Position:
        """The end of the current consumer's part: the start of the next consumer, or the end of the range."""
        return self._consumers[0].start if self._consumers else self._end

    def refill(self, connection: Connection, reached: Position, size: EntrySize) -> None:
        """Grant permits to subscribed consumers, and begin further consumers if needed.

        Call this method after each delivery. `reached` is the next position to read. The method never waits and raises
        no error.
        """
        try:
            for ahead in self._consumers:
                if ahead.subscribing.is_answered:
                    ahead.settle()
            entries = size.part(self._permits)
            while (start := self._next_start(reached, entries)) is not None:
                self._begin(connection, start, entries, size)
        except PulsarError as fault:
            self._drop_after(fault)

    def _next_start(self, reached: Position, entries: int) -> Position | None:
        """Return the start of one more consumer; None if no consumer should begin now.

        `entries` is the size of a part.
        """
        if len(self._consumers) >= self._most or entries < LEAST_ENTRIES or reached < self._not_before:
            return None
        last = self._last_beginning() if self._consumers else reached
        if last is None or (self._short_ledgers and last.ledger != self._end.ledger):
            return None
        # If the ledger ends before this start, the broker begins with the next ledger, and some entries arrive twice.
        start = Position(last.ledger, last.entry + entries)
        return start if Position(start.ledger, start.entry + LEAST_ENTRIES) <= self._end else None

    def _last_beginning(self) -> Position | None:
        """Return the actual beginning of the last consumer; None if the beginning is unknown.

        Only received entries show which ledger follows another ledger.
        """
        last = self._consumers[-1]
        if last.start.ledger == self._end.ledger:
            return last.start
        first = None if last.consumer is None else last.consumer.first_waiting()
        if first is not None:
            self._note_first(last, first)
        return first

    def _note_first(self, ahead: _PrefetchingConsumer, first: Position) -> None:
        """Recognize short ledgers by the first position that a consumer received."""
        if first.ledger > ahead.start.ledger and ahead.start.entry < LEAST_PARTS * ahead.entries:
            self._short_ledgers = True

    def _begin(self, connection: Connection, start: Position, entries: int, size: EntrySize) -> None:
        messages = max(1, min(self._permits, round(entries * size.messages)))
        subscribing = begin_subscribe(self._client, connection, self._topic, start)
        self._consumers.append(_PrefetchingConsumer(start, entries, messages, subscribing))

    def take_over(self, reached: Position) -> tuple[EntryConsumer, int] | None:
        """Return the consumer of the next part, and the number of messages that it may receive.

        The method waits for the subscription. None means that the subscription failed. Call the method when `reached`
        is at the border and before the end.
        """
        following = self._consumers.popleft()
        self._note_first(following, reached)
        try:
            return following.settle(), following.messages
        except PulsarError as fault:
            following.close()
            self._drop_after(fault)
            return None

    def _drop_after(self, fault: PulsarError) -> None:
        self.drop()
        if not isinstance(fault, ConnectionFailed):
            # For example, the number of subscriptions of a topic may be limited.
            _log.debug(
                "reading by one consumer, because a broker refused another one: %s: %s", fault, self._topic
            )
            self._most = 0

    def drop(self) -> None:
        """Close all consumers, so that the border is the end of the range again.

        Further consumers begin only after the reader has reached the start of the farthest closed consumer.
        """
        if self._consumers:
            self._not_before = self._consumers[-1].start
        while self._consumers:
            self._consumers.popleft().close()
