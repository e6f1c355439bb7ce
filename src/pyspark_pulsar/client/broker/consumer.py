"""A consumer of one topic partition, which receives whole entries from a start position. `subscribe` opens a consumer.

    call or event        | commands and effects
    `add_permits`        | FLOW. The broker sends entries while it has permits. The last entry can exceed the permits.
    `take`               | returns entries from MESSAGE frames, in order and without gaps
    `request_log_end`    | GET_LAST_MESSAGE_ID; `await_log_end` waits for the answer
    `acknowledge_...`    | ACK, without waiting for an answer
    CLOSE_CONSUMER       | the topic moves or was deleted; `take` returns the received entries, then raises
    the connection ends  | `take` returns the received entries, then raises
    `close`              | CLOSE_CONSUMER

A consumer receives each entry once. To continue after `ConnectionFailed`, the caller opens another consumer that starts
after the last entry that `take` returned.

On one connection, an answer arrives after all entries that the broker sent before the answer. A full connection
receives nothing (see the module `connection`). Therefore `await_log_end` removes entries from a full connection while
waiting for the answer. `take` returns these entries later, in the same order.

Protocol: CommandFlow, CommandGetLastMessageId, CommandAck, CommandCloseConsumer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.client.broker.connection.commands import frame, signed
from pyspark_pulsar.client.broker.connection.connection import Connection, EntryBatch, await_answer
from pyspark_pulsar.client.broker.open_consumer import OpenConsumer, mark_delete_position
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry
from pyspark_pulsar.runtime import Future, time

_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The log end of a topic partition and the position of a consumer's cursor, from one answer of a broker."""

    end: Position
    """The position after the last message that consumers can see, or `EARLIEST` if consumers can see no message."""
    mark_delete: Position
    """The first position that the cursor has not passed. Brokers also move cursors without an acknowledgement: when
    messages expire, when an operator clears or skips messages, and when retention has removed entries."""


class EntryConsumer(OpenConsumer):
    """An open consumer, which `subscribe` returns. One thread reads entries that the connection's thread delivers."""

    def __init__(self, connection: Connection, consumer_id: int, topic: str, request_seconds: float) -> None:
        super().__init__(connection, consumer_id, topic, request_seconds)
        self._arrivals = 0
        self._held: deque[EntryBatch] = deque()

    def on_entries(self) -> None:
        with self._changed:
            self._arrivals += 1
            self._changed.notify_all()

    def take(self, wait_seconds: float) -> EntryBatch | None:
        """Return the entries received so far. If there are no entries, wait for the next entries.

        Args:
            wait_seconds: Maximum time to wait for entries, in seconds.

        Returns:
            The entries, or None if no entry arrived in time.

        Raises:
            ConnectionFailed: The connection or consumer has ended, and this method has returned all received entries.

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
        """Return the position of the first entry that the next `take` returns, or None if no entry is waiting."""
        first = self._held[0].first if self._held else self.connection.first_entry(self.consumer_id)
        return None if first is None else Position(*first)

    def end(self, wait_seconds: float | None = None) -> Position:
        """Request the log end and wait for the answer. Return `LogEnd.end`; for arguments and errors see `log_end`."""
        return self.log_end(wait_seconds).end

    def log_end(
        self, wait_seconds: float | None = None, make_room: Callable[[], None] = lambda: None
    ) -> LogEnd:
        """Request the log end and wait for the answer.

        Args:
            wait_seconds: Maximum time to wait, in seconds. The default and upper limit is the timeout of a request.
            make_room: A function that is called while the connection is full. A full connection receives no answer.

        Raises:
            ConnectionFailed: The broker closed the consumer, or the connection ended.
            DeadlineExceeded: The answer did not arrive in time.

        """
        seconds = self._request_seconds if wait_seconds is None else min(wait_seconds, self._request_seconds)
        return self.await_log_end(
            self.request_log_end(), time.monotonic() + max(_POLL_SECONDS, seconds), make_room
        )

    def request_log_end(self) -> Future[Any]:
        """Send a request for the log end. Pass the returned future to `await_log_end`.

        Raises:
            ConnectionFailed: The connection breaks while sending.

        """
        return request_log_ends([self])[0]

    def await_log_end(
        self, answer: Future[Any], deadline: float, make_room: Callable[[], None] = lambda: None
    ) -> LogEnd:
        """Wait for the answer to `request_log_end`.

        While transactions are open, the log end is before the first message of the oldest open transaction.

        Args:
            answer: The result of `request_log_end`.
            deadline: The time at which the wait ends, on the clock of `time.monotonic`.
            make_room: A function that is called while the connection is full. A full connection receives no answer.

        Raises:
            ConnectionFailed: The broker closed the consumer, or the connection ended.
            DeadlineExceeded: The answer did not arrive in time.

        """
        last = self._await(answer, self._reading_log_end, deadline, make_room)
        last_entry = signed(last.last_message_id.ledgerId), signed(last.last_message_id.entryId)
        return LogEnd(after_entry(*last_entry), mark_delete_position(last) or EARLIEST)

    def log_end_request(self) -> tuple[wire.BaseCommand, str]:
        """Return the command that requests the log end, and a description of the request for error messages."""
        return self._last_message_request(), self._reading_log_end

    @property
    def _reading_log_end(self) -> str:
        return f"reading the last message id of {self._where}"

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
        """Move this consumer's entries from the connection to the consumer, so that an answer can arrive."""
        entries = self.connection.take_entries(self.consumer_id)
        if entries is not None:
            self._held.append(entries)

    def acknowledge_cumulative(self, position: Position) -> None:
        """Acknowledge all entries before the entry of `position`, without waiting for an answer.

        The cursor then moves to this entry, and Pulsar's statistics count only messages from this entry on as backlog.
        If `position` is in the first entry of a ledger, this method sends nothing.

        Raises:
            ConnectionFailed: The connection is closed or breaks.

        """
        if position.ledger >= 0 and position.entry > 0:
            self.connection.send_bytes(frame(self._acknowledgement(position)))


def request_log_ends(consumers: Sequence[EntryConsumer]) -> list[Future[Any]]:
    """Request the log ends of several consumers, with a single send for each connection.

    Returns:
        A future for each consumer, in the same order. Pass each future to `await_log_end` of the consumer.

    Raises:
        ConnectionFailed: A connection breaks while sending. If a connection ended before the call, the futures of the
            connection's consumers fail instead.

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
