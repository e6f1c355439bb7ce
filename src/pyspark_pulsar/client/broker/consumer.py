"""A non-durable, exclusive consumer of one topic partition: whole entries from a position on.

The subscription has a random name, leaves nothing behind, and never creates a topic. The broker sends at
most as many messages as it holds permits for; permits are given back as entries are taken.
"""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.commands import (
    ACK,
    CLOSE_CONSUMER,
    FLOW,
    GET_LAST_MESSAGE_ID,
    SUBSCRIBE,
    frame,
)
from pyspark_pulsar.client.broker.connection import Connection, EntryBatch, await_answer
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, DeadlineExceeded
from pyspark_pulsar.position import EARLIEST, Position, after_entry

_EXCLUSIVE = 0
_CUMULATIVE = 1
_EARLIEST, _LATEST = 1, 0
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LogEnd:
    """What a broker says of a topic partition, and of a consumer's cursor in it."""

    end: Position
    """Behind the last message that consumers can see; `EARLIEST` when there is none."""
    mark_delete: Position
    """The first position that the cursor has not passed. The broker moves cursors on, without a word, past what it
    removes (to behind the last entry removed), what expires, and what somebody clears or skips."""


class EntryConsumer:
    """Open with `subscribe`. One thread takes; the connection's thread delivers."""

    def __init__(self, connection: Connection, consumer_id: int, topic: str, request_seconds: float) -> None:
        self.connection = connection
        self.consumer_id = consumer_id
        self._topic = topic
        self._request_seconds = request_seconds
        self._changed = threading.Condition()
        self._arrivals = 0
        self._failure: ConnectionFailed | None = None
        self._held: deque[EntryBatch] = deque()

    @property
    def is_open(self) -> bool:
        """False when the broker has closed it, or the connection is gone."""
        return self._failure is None

    # Listener; the connection's receiving thread calls these

    def on_command(self, command: wire.BaseCommand) -> None:
        if command.type == CLOSE_CONSUMER:
            self.on_closed(
                ConnectionFailed(f"{self._topic}: the broker closed the consumer; the topic moves")
            )

    def on_entries(self) -> None:
        with self._changed:
            self._arrivals += 1
            self._changed.notify_all()

    def on_closed(self, reason: ConnectionFailed) -> None:
        with self._changed:
            self._failure = self._failure or reason
            self._changed.notify_all()

    # The reading thread calls these

    def allow(self, messages: int) -> None:
        """Let the broker send this many more messages."""
        flow = wire.CommandFlow(consumer_id=self.consumer_id, messagePermits=messages)
        self.connection.send_bytes(frame(wire.BaseCommand(type=FLOW, flow=flow)))

    def take(self, wait_seconds: float) -> EntryBatch | None:
        """Entries received so far, or the first to come within `wait_seconds`; None when none do.

        Raises `ConnectionFailed` when the connection or consumer is gone and all that came is taken.
        """
        deadline = time.monotonic() + wait_seconds
        while True:
            with self._changed:
                seen, failure = self._arrivals, self._failure
            entries = self._held.popleft() if self._held else self.connection.take_entries(self.consumer_id)
            if entries is not None:
                return entries
            if failure is not None:
                raise failure
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                if self._arrivals == seen and self._failure is None:
                    self._changed.wait(left)

    def first_waiting(self) -> Position | None:
        """The first entry received that is not taken yet; None when there is none."""
        found = self._held[0].first if self._held else self.connection.first_entry(self.consumer_id)
        return None if found is None else Position(*found)

    def end(self, wait_seconds: float | None = None) -> Position:
        """`look().end`."""
        return self.look(wait_seconds).end

    def look(self, wait_seconds: float | None = None, make_room: Callable[[], None] = lambda: None) -> LogEnd:
        """`log_end`, asked now. `wait_seconds`: for the answer, if that is less than a request may take. `make_room`:
        is called when it cannot come, since the connection is full."""
        seconds = self._request_seconds if wait_seconds is None else min(wait_seconds, self._request_seconds)
        return self.log_end(self.ask_tail(), time.monotonic() + max(_LOOK_SECONDS, seconds), make_room)

    def ask_tail(self) -> Future[Any]:
        """Send the question that `log_end` waits for. Raises `ConnectionFailed`."""
        return request_log_ends([self])[0]

    def log_end(
        self, answer: Future[Any], deadline: float, make_room: Callable[[], None] = lambda: None
    ) -> LogEnd:
        """The answer to `ask_tail`, given up as soon as the broker closes the consumer, or at `deadline` (monotonic).

        Transactions: nothing behind the first open transaction counts (the broker's own rule).
        """
        found = self._await(answer, self._asking, deadline, make_room)
        last, passed = found.last_message_id, found.consumer_mark_delete_position
        mark_delete = EARLIEST
        if found.HasField("consumer_mark_delete_position") and _signed(passed.ledgerId) >= 0:
            mark_delete = Position(passed.ledgerId, _signed(passed.entryId) + 1)
        return LogEnd(after_entry(_signed(last.ledgerId), _signed(last.entryId)), mark_delete)

    def tail_question(self) -> tuple[wire.BaseCommand, str]:
        """What `ask_tail` sends."""
        request = wire.CommandGetLastMessageId(consumer_id=self.consumer_id, request_id=0)
        return wire.BaseCommand(type=GET_LAST_MESSAGE_ID, getLastMessageId=request), self._asking

    @property
    def _asking(self) -> str:
        return f"reading the last message id of {self._topic}"

    def _await(self, answer: Future[Any], where: str, deadline: float, make_room: Callable[[], None]) -> Any:
        while True:
            left = deadline - time.monotonic()
            try:
                return await_answer(answer, where, max(0.0, min(left, _LOOK_SECONDS)))
            except DeadlineExceeded:
                if self._failure is not None:
                    raise self._failure from None
                if left <= _LOOK_SECONDS:
                    raise
                if self.connection.is_full:
                    make_room()
                    self._hold()

    def _hold(self) -> None:
        """Make room on the connection for an answer that comes behind our entries."""
        entries = self.connection.take_entries(self.consumer_id)
        if entries is not None:
            self._held.append(entries)

    def acknowledge_cumulative(self, position: Position) -> None:
        """Move the cursor on to `position`, by whole entries, so that Pulsar's statistics show no more as backlog
        than what lies behind it. Waits for no answer. Raises `ConnectionFailed`."""
        if position.ledger < 0 or position.entry == 0:
            return
        passed = wire.MessageIdData(ledgerId=position.ledger, entryId=position.entry - 1)
        ack = wire.CommandAck(consumer_id=self.consumer_id, ack_type=_CUMULATIVE, message_id=[passed])
        self.connection.send_bytes(frame(wire.BaseCommand(type=ACK, ack=ack)))

    def close(self, wait_seconds: float = 0.0) -> None:
        """Tell the broker and forget; never raises for a connection that is already gone. `wait_seconds`: for the
        broker to have let it go, which matters to the next one of an exclusive subscription."""
        self.connection.remove_consumer(self.consumer_id)
        if not self.connection.is_open or self._failure is not None:
            return
        request = wire.CommandCloseConsumer(consumer_id=self.consumer_id, request_id=0)
        try:
            answer = self.connection.submit(
                wire.BaseCommand(type=CLOSE_CONSUMER, close_consumer=request), self._closing
            )
            if wait_seconds > 0:
                await_answer(answer, self._closing, wait_seconds)
        except ConnectionFailed:
            return

    @property
    def _closing(self) -> str:
        return f"closing the consumer of {self._topic}"


def request_log_ends(consumers: Sequence[EntryConsumer]) -> list[Future[Any]]:
    """Send the questions that their `log_end` waits for, in one piece for each connection.

    Raises `ConnectionFailed` when a connection breaks; one that is gone already shows in the answers.
    """
    answers: dict[int, Future[Any]] = {}
    by_connection: dict[Connection, list[EntryConsumer]] = {}
    for consumer in consumers:
        by_connection.setdefault(consumer.connection, []).append(consumer)
    for connection, asking in by_connection.items():
        questions = [each.tail_question() for each in asking]
        for consumer, answer in zip(asking, connection.submit_all(questions), strict=True):
            answers[id(consumer)] = answer
    return [answers[id(consumer)] for consumer in consumers]


def subscribe(
    client: BrokerClient, topic: str, start: Position | None, *, read_compacted: bool = False
) -> EntryConsumer:
    """Subscribe at `start` (None: behind the last message). One attempt; the caller retries.

    `read_compacted`: entries and `end` are those of the topic's compacted view.

    Entries arrive whole: the first one may hold messages before `start`, which ranges drop later.
    Raises `ConnectionFailed` (passing), `TopicNotFoundError`, `PermissionDenied`.
    """
    return begin_subscribe(
        client, client.owner_connection(topic), topic, start, read_compacted=read_compacted
    ).consumer()


@dataclass(frozen=True, slots=True)
class Subscribing:
    """A subscription that is under way, so that many can be."""

    _client: BrokerClient
    _connection: Connection
    _topic: str
    _consumer: EntryConsumer
    _answer: Future[Any]

    def consumer(self, wait_seconds: float = math.inf) -> EntryConsumer:
        """Waits for the broker, at most for `wait_seconds` and as long as a request may take. Raises as `subscribe`
        does."""
        try:
            seconds = self._client.left(min(wait_seconds, self._client.request_seconds))
            await_answer(self._answer, f"subscribing to {self._topic}", seconds)
        except BaseException:
            self._connection.remove_consumer(self._consumer.consumer_id)
            self._client.forget_owner(self._topic)
            raise
        return self._consumer

    @property
    def is_answered(self) -> bool:
        """Whether `consumer` would not wait."""
        return self._answer.done()

    def abandon(self) -> None:
        """Nobody wants the consumer any more. Does not wait: brokers close a consumer that is not there yet, too."""
        self._consumer.close()


def begin_subscribe(
    client: BrokerClient,
    connection: Connection,
    topic: str,
    start: Position | None,
    *,
    read_compacted: bool = False,
    subscription: str | None = None,
    durable: bool = False,
) -> Subscribing:
    """`subscribe` on the connection to the topic's owner, without waiting for the answer.

    `subscription`: its name, by default a random one. `durable`: the consumer begins where the subscription stands,
    whatever `start` is, and the broker makes the subscription where there is none.
    """
    consumer = EntryConsumer(connection, connection.new_id(), topic, client.request_seconds)
    connection.add_consumer(consumer.consumer_id, consumer)
    request = wire.CommandSubscribe(
        topic=topic,
        subscription=subscription or f"pyspark-pulsar-{uuid.uuid4().hex}",
        subType=_EXCLUSIVE,
        consumer_id=consumer.consumer_id,
        request_id=0,
        durable=durable,
        read_compacted=read_compacted,
        start_message_id=_start_message_id(start),
        initialPosition=_LATEST if start is None else _EARLIEST,
        force_topic_creation=False,
    )
    command = wire.BaseCommand(type=SUBSCRIBE, subscribe=request)
    try:
        answer = connection.submit(command, f"subscribing to {topic}")
    except BaseException:
        connection.remove_consumer(consumer.consumer_id)
        client.forget_owner(topic)
        raise
    return Subscribing(client, connection, topic, consumer, answer)


def _start_message_id(start: Position | None) -> wire.MessageIdData:
    if start is None:
        return wire.MessageIdData(ledgerId=2**63 - 1, entryId=2**63 - 1)
    if start.is_earliest:
        return wire.MessageIdData(ledgerId=2**64 - 1, entryId=2**64 - 1)
    # A batch index makes the broker step back by one entry, since its cursors start behind a position.
    return wire.MessageIdData(ledgerId=start.ledger, entryId=start.entry, batch_index=start.batch_index)


def _signed(number: int) -> int:
    """The protocol carries Java longs as unsigned; -1 stands for "none"."""
    return number - 2**64 if number >= 2**63 else number
