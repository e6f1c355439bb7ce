"""Consumers that begin further ahead in a range while a part of it is read. Executor only.

A broker reads at most a hundred entries for a consumer (`dispatcherMaxReadBatchSize`), sends them, and only then asks
the bookies for the next ones. With small entries these turns take longer than the messages, whoever receives them; so
several consumers, each one a part ahead of the one before it, get more (docs/decisions/0027).

The range is cut into parts while it is read, since only what came tells how large entries are (`EntrySize.part`):

    reached            border                                                        end
       |------ read -----|----- ahead 1 -----|----- ahead 2 -----|-- not begun yet ----|

Whoever reads the range (`broker.BrokerEntries`) reads its own consumer up to the border, and then takes over the next
one. Each consumer ahead goes through these states:

    state         what the broker may send          goes on when
    SUBSCRIBING   nothing                           it has answered, which `refill` or `take_over` sees: SENDING. A
                                                    refusal: all are dropped, and no more begin for this range
    SENDING       one part's messages, once;        the border is reached: `take_over` gives it to the reader, who
                  nobody takes them yet             gives it more permits from then on
    dropped       -                                 what fails, fills the connection's buffer, or waits when the reader
                                                    begins anew. Those ahead of it go with it

Nobody waits for them, except `take_over` for the answer to a subscription. Where they are dropped the reader goes on
alone, its border is the end of the range again, and what they had been sent is sent once more to it. So that this does
not go on for ever, none begin before the reader has come to where the last of them was to begin (`_not_before`).

Why no entry is lost: the consumer ahead subscribes at the border, and the one before is read until it has reached it.
Why no row comes twice: what one consumer gave from beyond the border is dropped by position when the next one gives it
(`task.audit.Run.take`). It is seldom much, since the reader grants hardly more permits than reach the border.

Where a part begins is a guess: entry ids of the present ledger are counted on, and if the ledger ends sooner the broker
begins with the next ledger. The consumer before gets there too, so those entries are sent twice, up to a part of them
at each end of a ledger. That is little for long ledgers. In a topic of short ones (`_short_ledgers`, learnt from where
entries really came) consumers begin ahead only in the last ledger of the range, whose end is known. And where a
consumer begins behind one whose real beginning is not known yet, nothing is begun until its first entry is here.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.errors import ConnectionFailed, PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position

PART_BYTES: Final = 4 * 1024 * 1024
"""Of entries that wait for each consumer ahead, by the size of those that came."""
MOST_ENTRIES: Final = 10_000
"""A ledger ends somewhere in a part, and the rest of that part is then sent twice ..."""
LEAST_PARTS: Final = 4
"""... so in a topic of shorter ledgers, consumers begin ahead only in the last one of a range, whose end is known."""
LEAST_ENTRIES: Final = 500
"""With fewer, a part is too soon over for the subscription that it takes; so it is where entries are large."""

# An answer can be stuck behind what waits for others ahead.
_SETTLE_SECONDS: Final = 1.0

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EntrySize:
    """The mean entry of those that came."""

    messages: float
    nbytes: float

    def part(self, permits: int) -> int:
        """How many such entries make a part: those that a consumer may be sent while nobody takes them."""
        by_messages = permits / max(1.0, self.messages)
        by_bytes = PART_BYTES / max(1.0, self.nbytes)
        return int(min(by_messages, by_bytes, MOST_ENTRIES))


@dataclass(slots=True)
class _PrefetchingConsumer:
    """One consumer, SUBSCRIBING or SENDING."""

    start: Position
    entries: int
    """Of a part."""
    messages: int
    """What the broker may send before somebody takes from it."""
    subscribing: Subscribing
    consumer: EntryConsumer | None = None

    def settle(self) -> EntryConsumer:
        """Waits for the broker's answer. Raises as `Subscribing.consumer` does."""
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
    """Used by the one thread that reads the range up to `end` (exclusive)."""

    def __init__(self, client: BrokerClient, topic: str, end: Position, *, permits: int, most: int) -> None:
        """`permits`: messages that may wait for one consumer. `most`: consumers ahead at a time; 0 is none."""
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
        """Where the part of the consumer that is read ends: where the next one begins, or at the end of the range."""
        return self._consumers[0].start if self._consumers else self._end

    def refill(self, connection: Connection, reached: Position, size: EntrySize) -> None:
        """Let those send whose subscription is answered, and begin another one if there should be more. Call after each
        delivery, with what is the next to be read; never waits, and never raises for what happens ahead."""
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
        """Where one more consumer should begin; None where none should, or not yet. `entries`: of a part."""
        if len(self._consumers) >= self._most or entries < LEAST_ENTRIES or reached < self._not_before:
            return None
        last = self._last_beginning() if self._consumers else reached
        if last is None or (self._short_ledgers and last.ledger != self._end.ledger):
            return None
        # Where the ledger ends sooner, the broker begins with the next one, and the consumer before gets there too.
        start = Position(last.ledger, last.entry + entries)
        return start if Position(start.ledger, start.entry + LEAST_ENTRIES) <= self._end else None

    def _last_beginning(self) -> Position | None:
        """Where the last consumer really began; None before that is known: which ledger follows on another, only
        entries tell."""
        last = self._consumers[-1]
        if last.start.ledger == self._end.ledger:
            return last.start
        first = None if last.consumer is None else last.consumer.first_waiting()
        if first is not None:
            self._learn(last, first)
        return first

    def _learn(self, ahead: _PrefetchingConsumer, first: Position) -> None:
        """`first`: what came first at its start."""
        if first.ledger > ahead.start.ledger and ahead.start.entry < LEAST_PARTS * ahead.entries:
            self._short_ledgers = True

    def _begin(self, connection: Connection, start: Position, entries: int, size: EntrySize) -> None:
        messages = max(1, min(self._permits, round(entries * size.messages)))
        subscribing = begin_subscribe(self._client, connection, self._topic, start)
        self._consumers.append(_PrefetchingConsumer(start, entries, messages, subscribing))

    def take_over(self, reached: Position) -> tuple[EntryConsumer, int] | None:
        """The consumer of the next part, and how many messages it may be sent in all; None where its subscription
        failed. Waits for that. Call when `reached` is at the border and not at the end."""
        following = self._consumers.popleft()
        self._learn(following, reached)
        try:
            return following.settle(), following.messages
        except PulsarError as fault:
            following.close()
            self._drop_after(fault)
            return None

    def _drop_after(self, fault: PulsarError) -> None:
        self.drop()
        if not isinstance(fault, ConnectionFailed):
            # Such as a limit to the subscriptions of a topic.
            _log.debug("%s: read by one consumer, since another was refused: %s", self._topic, fault)
            self._most = 0

    def drop(self) -> None:
        """Close all; the border is the end again. None begin before what they had reached has been read."""
        if self._consumers:
            self._not_before = self._consumers[-1].start
        while self._consumers:
            self._consumers.popleft().close()
