"""Consumers that begin further ahead in a range while a part of it is read. Executor only.

A broker reads at most a hundred entries for a consumer (`dispatcherMaxReadBatchSize`), sends them, and only then asks
the bookies for the next ones. With small entries these turns take longer than the messages, whoever receives them; so
several consumers, each one a part ahead of the one before it, get more (docs/decisions/0027).

Nobody waits for them. What fails, is refused, or fills the connection's buffer is let go, and the consumer that is read
goes on alone.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection import Connection
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.errors import ConnectionFailed, PulsarError
from pyspark_pulsar.position import EARLIEST, Position

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
class _Begun:
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
        self._begun: deque[_Begun] = deque()
        self._not_before = EARLIEST
        self._short_ledgers = False

    @property
    def border(self) -> Position:
        """Where the part of the consumer that is read ends: where the next one begins, or at the end of the range."""
        return self._begun[0].start if self._begun else self._end

    def look(self, connection: Connection, reached: Position, size: EntrySize) -> None:
        """Let those send whose subscription is answered, and begin another one if there should be more. Call after each
        delivery, with what is the next to be read; never waits, and never raises for what happens ahead."""
        try:
            for each in self._begun:
                if each.subscribing.is_answered:
                    each.settle()
            entries = size.part(self._permits)
            while (start := self._next_start(reached, entries)) is not None:
                self._begin(connection, start, entries, size)
        except ConnectionFailed:
            self.drop()
        except PulsarError as refusal:
            # Such as a limit to the subscriptions of a topic.
            _log.debug("%s: read by one consumer, since another was refused: %s", self._topic, refusal)
            self.drop()
            self._most = 0

    def _next_start(self, reached: Position, entries: int) -> Position | None:
        """Where one more consumer should begin; None where none should, or not yet. `entries`: of a part."""
        if len(self._begun) >= self._most or entries < LEAST_ENTRIES or reached < self._not_before:
            return None
        last = self._last_beginning() if self._begun else reached
        if last is None or (self._short_ledgers and last.ledger != self._end.ledger):
            return None
        # Where the ledger ends sooner, the broker begins with the next one, and the consumer before gets there too.
        start = Position(last.ledger, last.entry + entries)
        return start if Position(start.ledger, start.entry + LEAST_ENTRIES) <= self._end else None

    def _last_beginning(self) -> Position | None:
        """Where the last consumer really began; None before that is known: which ledger follows on another, only
        entries tell."""
        last = self._begun[-1]
        if last.start.ledger == self._end.ledger:
            return last.start
        found = None if last.consumer is None else last.consumer.first_waiting()
        if found is not None:
            self._learn(last, found)
        return found

    def _learn(self, begun: _Begun, found: Position) -> None:
        """`found`: what came first at its start."""
        if found.ledger > begun.start.ledger and begun.start.entry < LEAST_PARTS * begun.entries:
            self._short_ledgers = True

    def _begin(self, connection: Connection, start: Position, entries: int, size: EntrySize) -> None:
        messages = max(1, min(self._permits, round(entries * size.messages)))
        subscribing = begin_subscribe(self._client, connection, self._topic, start)
        self._begun.append(_Begun(start, entries, messages, subscribing))

    def take_over(self, reached: Position) -> tuple[EntryConsumer, int] | None:
        """The consumer of the next part, and how many messages it may be sent in all; None where its subscription
        failed. Waits for that. Call when `reached` is at the border and not at the end."""
        following = self._begun.popleft()
        self._learn(following, reached)
        try:
            return following.settle(), following.messages
        except PulsarError:
            following.close()
            self.drop()
            return None

    def drop(self) -> None:
        """Close all; the border is the end again. None begin before what they had reached has been read."""
        if self._begun:
            self._not_before = self._begun[-1].start
        while self._begun:
            self._begun.popleft().close()
