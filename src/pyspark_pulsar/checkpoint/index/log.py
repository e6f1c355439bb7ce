"""The log of an index, for callers that query the state of the index or append records.

The module `follower` contains the thread that applies the records.

Reading after writing: `sync` requests the log end from the broker, and waits until all records before the log end are
applied. So a caller sees every record for which any process received a receipt before the call.

A record of this process can be applied when its receipt arrives. The condition is that the record has the next entry id
after the last applied record, in the same ledger. No other record can be between two adjacent entries. If the condition
is not met, the thread applies the record after reading the record from the topic. In both cases, records are applied in
the order of the log.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.follower import IndexFollower
from pyspark_pulsar.checkpoint.index.records import Kind, Record, encode, new_id
from pyspark_pulsar.checkpoint.index.replay import Replay
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.checkpoint.index.view import IndexView
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.checkpoint.messages.writer import LogWriter
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import signed
from pyspark_pulsar.client.broker.connection.connection import await_answer
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.errors import CheckpointLost, ConnectionFailed, DeadlineExceeded, PulsarError
from pyspark_pulsar.runtime import Future, threading, time

_log: Final = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.5
_STATE_SECONDS: Final = 15.0
"""The maximum wait for a state, in seconds, in addition to the duration of a call.

The value is less than 20 s, because the JVM waits for an answer until 20 s after the maximum duration of a call.
"""
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)

T = TypeVar("T")


class IndexLog:
    """The index log of a checkpoint. The topic of the log must exist. The caller closes the log."""

    def __init__(self, client: BrokerClient, writer: LogWriter, topic: str) -> None:
        """Start the thread, which alone uses `client`. `close` closes `client` and `writer`."""
        self.topic = topic
        self.writer = writer
        self._client = client
        self._view = IndexView(topic)
        follower = IndexFollower(client, topic, self._view)
        self._thread = threading.Thread(target=follower.run, name=f"index {topic}", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> PulsarError | None:
        """The error after which this log cannot be used; None while the log can be used."""
        return self._view.failure

    def look(self, question: Callable[[IndexState], T]) -> T:
        """Wait until a state is found, and return `question(state)`.

        The question runs under the lock. So the question must be quick, must not change the state, and must not store a
        reference to the state.

        Raises:
            CheckpointLost: The log has no record, or records were removed.
            DeadlineExceeded: No state was found in time.

        """
        with self._view.changed:
            return question(self._await_state())

    def look_at_replay(self, question: Callable[[Replay], T]) -> T:
        """Return `question(replay)`, without waiting. The replay may have no state."""
        with self._view.changed:
            return question(self._view.replay)

    @property
    def owner(self) -> str:
        """The owner in the applied records; empty for a log without a record. Waits and raises as `look` does."""
        with self._view.changed:
            return "" if self._view.is_empty else self._await_state().owner

    def body(self, file_id: str) -> bytes | None:
        """Return the bytes of a small file from memory; None if the file is not in memory."""
        with self._view.changed:
            return self._view.replay.bodies.get(file_id)

    def keep_body(self, file_id: str, body: bytes) -> None:
        """Add the bytes of a small file to the cache in memory."""
        with self._view.changed:
            self._view.replay.bodies.put(file_id, body)

    def sync(self, deadline: Deadline) -> bool:
        """Apply all records that the topic contains at the time of the call. Return False if the topic has no record.

        Raises `CheckpointLost`, `DeadlineExceeded`, `PermissionDenied`, `TopicNotFoundError`.
        """
        doing = f"reading {self.topic} to its end"
        while True:
            consumer = self._ready(deadline, doing)
            if consumer is None:
                return False
            end = self._end(consumer, deadline, doing)
            if end is not None and self._reach(consumer, end, deadline, doing):
                return True

    def append(
        self,
        kind: Kind,
        owner: str,
        deadline: Deadline,
        details: dict[str, Any] | None = None,
        body: bytes = b"",
        *,
        record_id: str | None = None,
        wait: bool = True,
    ) -> Outcome:
        """Append a record, and return its outcome.

        Args:
            kind: The kind of the record.
            owner: The owner that the record names as its writer.
            deadline: The time after which the call fails.
            details: The keys for this kind of record, which the module `records` lists.
            body: The bytes of small files.
            record_id: The id of the record. If the id is None, the record gets a new id.
            wait: If False, the call returns DONE after the record is stored, without waiting for the outcome.

        Raises:
            SendError: The broker refused the record.
            DeadlineExceeded: No receipt or outcome arrived in time. The record may be stored.
            PulsarError: See `sync`.

        """
        outcome: Future[Outcome] = Future()
        with self._view.changed:
            # Under the lock, `outcome` is registered for the present state. If this state is dropped, `outcome` fails.
            self._await_state()
            seen, anchor = self._view.replay.last, self._view.replay.anchor
            now = time.time_ns() // 1_000_000
            record = Record(kind, record_id or new_id(), owner, now, seen, anchor, details or {}, body)
            self._view.waiting[record.id] = outcome
        try:
            sent = self.writer.send(encode(record), deadline)
            sent.add_done_callback(lambda answer: self._stored(record, answer))
            self.writer.wait(sent, deadline)
            return self._outcome(record, outcome, deadline) if wait else Outcome.DONE
        finally:
            with self._view.changed:
                self._view.waiting.pop(record.id, None)

    def close(self) -> None:
        """End the thread, and close the writer and the client. Waiting calls fail with `ConnectionFailed`."""
        with self._view.changed:
            self._view.closed = True
            self._view.failure = self._view.failure or ConnectionFailed(f"{self.topic}: the index was closed")
            self._view.changed.notify_all()
        self.writer.close()
        self._client.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)

    def _await_state(self) -> IndexState:
        """Wait for a state. The caller holds the lock, and waiting releases the lock."""
        deadline = Deadline.after(_STATE_SECONDS)
        while True:
            self._view.raise_failure()
            state = self._view.replay.state
            if state is not None:
                return state
            if self._view.is_empty:
                raise CheckpointLost(
                    f"{self.topic}: expected an index with records, got an empty topic; restore the "
                    f"checkpoint from a copy (pyspark-pulsar checkpoint copy)"
                )
            left = deadline.seconds_left(f"reading {self.topic}", self._view.fault)
            self._view.changed.wait(min(_POLL_SECONDS, left))

    def _ready(self, deadline: Deadline, doing: str) -> EntryConsumer | None:
        """Wait for a state, and return the consumer that reads the log; return None if the log is empty."""
        with self._view.changed:
            while True:
                self._view.raise_failure()
                if self._view.consumer is not None and self._view.consumer.is_open:
                    if self._view.replay.state is not None:
                        return self._view.consumer
                    if self._view.is_empty:
                        return None
                self._view.changed.wait(min(_POLL_SECONDS, deadline.seconds_left(doing, self._view.fault)))

    def _end(self, consumer: EntryConsumer, deadline: Deadline, doing: str) -> MessagePosition | None:
        """Return the position of the last message.

        Return None if the connection was lost, or if the topic has no messages any more.
        """
        try:
            answer = consumer.request_log_end()
            while True:
                try:
                    last = await_answer(
                        answer, doing, min(_POLL_SECONDS, deadline.seconds_left(doing))
                    ).last_message_id
                except DeadlineExceeded:
                    deadline.seconds_left(doing, self._view.fault)
                    if not consumer.is_open:
                        return None
                    continue
                position = signed(last.ledgerId), signed(last.entryId)
                if min(position) >= 0:
                    return position
                self._check_emptied(consumer)
                return None
        except DeadlineExceeded:
            raise
        except ConnectionFailed as fault:
            with self._view.changed:
                self._view.fault = fault
            time.sleep(_PAUSES[0])
            return None

    def _check_emptied(self, consumer: EntryConsumer) -> None:
        """Close the consumer of a log whose records have all disappeared.

        The thread then subscribes again, and searches the last record.
        """
        _log.warning("Reopening an index, because its topic has no messages any more: %s", self.topic)
        consumer.close()
        consumer.on_closed(ConnectionFailed(f"{self.topic}: the topic has no messages any more"))

    def _reach(self, consumer: EntryConsumer, end: MessagePosition, deadline: Deadline, doing: str) -> bool:
        with self._view.changed:
            while True:
                self._view.raise_failure()
                replay = self._view.replay
                if replay.state is not None and replay.last is not None and replay.last >= end:
                    return True
                if not consumer.is_open or consumer is not self._view.consumer:
                    return False
                self._view.changed.wait(min(_POLL_SECONDS, deadline.seconds_left(doing, self._view.fault)))

    def _outcome(self, record: Record, outcome: Future[Outcome], deadline: Deadline) -> Outcome:
        doing = f"{self.topic}: waiting for the outcome of a {record.kind} record"
        while True:
            try:
                return outcome.result(
                    timeout=min(_POLL_SECONDS, deadline.seconds_left(doing, self._view.fault))
                )
            except TimeoutError:
                with self._view.changed:
                    self._view.raise_failure()

    def _stored(self, record: Record, answer: Future[MessagePosition | None]) -> None:
        """Apply a stored record if it directly follows the last applied record. Runs on the connection's thread."""
        if answer.cancelled() or answer.exception() is not None:
            return
        position = answer.result()
        with self._view.changed:
            last = self._view.replay.last
            if (
                position is None
                or last is None
                or self._view.replay.state is None
                or self._view.failure is not None
            ):
                return
            if position == (last[0], last[1] + 1):
                # The view stores the error, and waiting callers raise the error.
                with contextlib.suppress(PulsarError):
                    self._view.take(position, record)
