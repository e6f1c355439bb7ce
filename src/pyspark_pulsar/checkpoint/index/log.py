"""The topic of an index, for whoever asks or appends. `follower` has the thread that applies its records.

Reading after writing: `sync` asks the broker for the end of the log and waits until all up to there is applied. So what
any process was told is written before is seen.

A record of our own is applied when its receipt comes, if it lies directly behind the last one in the same ledger: then
nothing can lie between. Else it is applied when the thread comes to it. Either way in the order of the log.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
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

_log: Final = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.5
_STATE_SECONDS: Final = 15.0
"""Beside the time of a call: the JVM waits for 20 s longer than a call may take."""
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)

T = TypeVar("T")


class IndexLog:
    """Of one checkpoint whose topic exists. Close it."""

    def __init__(self, client: BrokerClient, writer: LogWriter, topic: str) -> None:
        """`client`: for the thread alone; closed by `close`, as is `writer`."""
        self.topic = topic
        self.writer = writer
        self._client = client
        self._view = IndexView(topic)
        follower = IndexFollower(client, topic, self._view)
        self._thread = threading.Thread(target=follower.run, name=f"index {topic}", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> PulsarError | None:
        """Why this log is of no use any more."""
        return self._view.failure

    def look(self, question: Callable[[IndexState], T]) -> T:
        """What `question` makes of the state, which must not change meanwhile and must not be kept. Waits while a state
        is found anew. Raises `CheckpointLost` for a log without a record, `DeadlineExceeded`."""
        with self._view.changed:
            return question(self._await_state())

    def look_at_replay(self, question: Callable[[Replay], T]) -> T:
        with self._view.changed:
            return question(self._view.replay)

    @property
    def owner(self) -> str:
        """The last that is known here; empty of a log without a record. Waits and raises as `look` does."""
        with self._view.changed:
            return "" if self._view.is_empty else self._await_state().owner

    def body(self, file_id: str) -> bytes | None:
        """Of an inline file, if it is kept here."""
        with self._view.changed:
            return self._view.replay.bodies.get(file_id)

    def keep_body(self, file_id: str, body: bytes) -> None:
        with self._view.changed:
            self._view.replay.bodies.put(file_id, body)

    def sync(self, deadline: Deadline) -> bool:
        """Apply all that is stored by now; False for a log without a record. Raises `CheckpointLost`,
        `DeadlineExceeded`, `PermissionDenied`, `TopicNotFoundError`."""
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
        """Returns what became of it, and without `wait` DONE as soon as it is stored. Raises `SendError`,
        `DeadlineExceeded`: whether it is stored is not known then; and what `sync` raises."""
        outcome: Future[Outcome] = Future()
        with self._view.changed:
            # In one piece: a state that is found anew later fails `outcome`, one that is there says what comes of it.
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
        """Ends the thread; whoever waits gets `ConnectionFailed`."""
        with self._view.changed:
            self._view.closed = True
            self._view.failure = self._view.failure or ConnectionFailed(f"{self.topic}: the index was closed")
            self._view.changed.notify_all()
        self.writer.close()
        self._client.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)

    def _await_state(self) -> IndexState:
        """Under the lock, which others take meanwhile."""
        deadline = Deadline.after(_STATE_SECONDS)
        while True:
            self._view.raise_failure()
            state = self._view.replay.state
            if state is not None:
                return state
            if self._view.is_empty:
                raise CheckpointLost(f"{self.topic}: expected the index to be read, got an empty one")
            left = deadline.left(f"reading {self.topic}", self._view.fault)
            self._view.changed.wait(min(_POLL_SECONDS, left))

    def _ready(self, deadline: Deadline, doing: str) -> EntryConsumer | None:
        """The consumer of a log whose state is known; None for an empty log."""
        with self._view.changed:
            while True:
                self._view.raise_failure()
                if self._view.consumer is not None and self._view.consumer.is_open:
                    if self._view.replay.state is not None:
                        return self._view.consumer
                    if self._view.is_empty:
                        return None
                self._view.changed.wait(min(_POLL_SECONDS, deadline.left(doing, self._view.fault)))

    def _end(self, consumer: EntryConsumer, deadline: Deadline, doing: str) -> MessagePosition | None:
        """Of the last message; None when the connection was lost meanwhile, or there is none any more."""
        try:
            answer = consumer.request_log_end()
            while True:
                try:
                    last = await_answer(
                        answer, doing, min(_POLL_SECONDS, deadline.left(doing))
                    ).last_message_id
                except DeadlineExceeded:
                    deadline.left(doing, self._view.fault)
                    if not consumer.is_open:
                        return None
                    continue
                position = signed(last.ledgerId), signed(last.entryId)
                if min(position) >= 0:
                    return position
                self._emptied(consumer)
                return None
        except DeadlineExceeded:
            raise
        except ConnectionFailed as fault:
            with self._view.changed:
                self._view.fault = fault
            time.sleep(_PAUSES[0])
            return None

    def _emptied(self, consumer: EntryConsumer) -> None:
        """A log that had records has none: let the thread see whether the one that it knows is there."""
        _log.warning("%s: expected records, got an empty topic", self.topic)
        consumer.close()
        consumer.on_closed(ConnectionFailed(f"{self.topic}: the topic was emptied"))

    def _reach(self, consumer: EntryConsumer, end: MessagePosition, deadline: Deadline, doing: str) -> bool:
        with self._view.changed:
            while True:
                self._view.raise_failure()
                replay = self._view.replay
                if replay.state is not None and replay.last is not None and replay.last >= end:
                    return True
                if not consumer.is_open or consumer is not self._view.consumer:
                    return False
                self._view.changed.wait(min(_POLL_SECONDS, deadline.left(doing, self._view.fault)))

    def _outcome(self, record: Record, outcome: Future[Outcome], deadline: Deadline) -> Outcome:
        doing = f"{self.topic}: waiting for what became of a {record.kind} record"
        while True:
            try:
                return outcome.result(timeout=min(_POLL_SECONDS, deadline.left(doing, self._view.fault)))
            except TimeoutError:
                with self._view.changed:
                    self._view.raise_failure()

    def _stored(self, record: Record, answer: Future[MessagePosition | None]) -> None:
        """On the connection's thread: apply it at once where that is its turn."""
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
                # What is wrong is noted, for whoever waits.
                with contextlib.suppress(PulsarError):
                    self._view.take(position, record)
