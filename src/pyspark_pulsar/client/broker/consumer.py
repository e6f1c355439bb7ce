"""A consumer of one topic partition: whole entries from a position on. `subscribe` makes it.

    step                 | what is sent, and what comes
    `add_permits`        | FLOW. The broker sends at most as many messages as it holds permits for; without, none.
    `take`               | entries that MESSAGE frames brought, in order and without a gap
    `request_log_end`    | GET_LAST_MESSAGE_ID; `await_log_end` waits for the answer
    `acknowledge_...`    | ACK, of which no answer is expected
    CLOSE_CONSUMER comes | the topic moves, or was deleted. `take` gives what is here, then it raises.
    the connection ends  | likewise
    `close`              | CLOSE_CONSUMER

Each entry comes once, as far as one consumer goes. Whoever reads on after `ConnectionFailed` makes another consumer,
which starts behind the last entry that was taken.

An answer comes behind the entries on the same connection, and one that is full receives nothing (`connection`). So
`await_log_end` takes entries out of the way while it waits. `take` gives them later, in the same order.

Protocol: CommandFlow, CommandGetLastMessageId, CommandAck, CommandCloseConsumer.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.client.broker.connection.commands import (
    ACK,
    CLOSE_CONSUMER,
    FLOW,
    GET_LAST_MESSAGE_ID,
    frame,
    signed,
)
from pyspark_pulsar.client.broker.connection.connection import Connection, EntryBatch, await_answer
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, DeadlineExceeded
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry

_CUMULATIVE = 1
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LogEnd:
    """What a broker says of a topic partition, and of a consumer's cursor in it."""

    end: Position
    """Behind the last message that consumers can see; `EARLIEST` when there is none."""
    mark_delete: Position
    """The first position that the cursor has not passed. The broker moves cursors on, without a word, past what it
    removes (to behind the last entry removed), what expires, and what somebody clears or skips."""


class EntryConsumer:
    """Open with `subscribe.subscribe`. One thread takes; the connection's thread delivers."""

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

    def add_permits(self, messages: int) -> None:
        """Let the broker send this many more messages (FLOW)."""
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
        first = self._held[0].first if self._held else self.connection.first_entry(self.consumer_id)
        return None if first is None else Position(*first)

    def end(self, wait_seconds: float | None = None) -> Position:
        """`log_end().end`."""
        return self.log_end(wait_seconds).end

    def log_end(
        self, wait_seconds: float | None = None, make_room: Callable[[], None] = lambda: None
    ) -> LogEnd:
        """Request it and wait for it. `wait_seconds`: for the answer, if that is less than a request may take.
        `make_room` is called when it cannot come, since the connection is full."""
        seconds = self._request_seconds if wait_seconds is None else min(wait_seconds, self._request_seconds)
        return self.await_log_end(
            self.request_log_end(), time.monotonic() + max(_POLL_SECONDS, seconds), make_room
        )

    def request_log_end(self) -> Future[Any]:
        """Send the request that `await_log_end` waits for. Raises `ConnectionFailed`."""
        return request_log_ends([self])[0]

    def await_log_end(
        self, answer: Future[Any], deadline: float, make_room: Callable[[], None] = lambda: None
    ) -> LogEnd:
        """The answer to `request_log_end`, given up as soon as the broker closes the consumer, or at `deadline` (of
        `time.monotonic`).

        Transactions: nothing behind the first open transaction counts (the broker's own rule).
        """
        last = self._await(answer, self._reading_log_end, deadline, make_room)
        last_message, passed = last.last_message_id, last.consumer_mark_delete_position
        mark_delete = EARLIEST
        if last.HasField("consumer_mark_delete_position") and signed(passed.ledgerId) >= 0:
            mark_delete = Position(passed.ledgerId, signed(passed.entryId) + 1)
        return LogEnd(after_entry(signed(last_message.ledgerId), signed(last_message.entryId)), mark_delete)

    def log_end_request(self) -> tuple[wire.BaseCommand, str]:
        """What `request_log_end` sends, and its name in errors."""
        request = wire.CommandGetLastMessageId(consumer_id=self.consumer_id, request_id=0)
        return wire.BaseCommand(type=GET_LAST_MESSAGE_ID, getLastMessageId=request), self._reading_log_end

    @property
    def _reading_log_end(self) -> str:
        return f"reading the last message id of {self._topic}"

    def _await(self, answer: Future[Any], where: str, deadline: float, make_room: Callable[[], None]) -> Any:
        while True:
            left = deadline - time.monotonic()
            try:
                return await_answer(answer, where, max(0.0, min(left, _POLL_SECONDS)))
            except DeadlineExceeded:
                if self._failure is not None:
                    raise self._failure from None
                if left <= _POLL_SECONDS:
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
    """Send the requests that their `await_log_end` waits for, in one piece for each connection.

    Raises `ConnectionFailed` when a connection breaks; one that is gone already shows in the answers.
    """
    answers: dict[int, Future[Any]] = {}
    by_connection: dict[Connection, list[EntryConsumer]] = {}
    for consumer in consumers:
        by_connection.setdefault(consumer.connection, []).append(consumer)
    for connection, of_connection in by_connection.items():
        requests = [consumer.log_end_request() for consumer in of_connection]
        for consumer, answer in zip(of_connection, connection.submit_all(requests), strict=True):
            answers[id(consumer)] = answer
    return [answers[id(consumer)] for consumer in consumers]
