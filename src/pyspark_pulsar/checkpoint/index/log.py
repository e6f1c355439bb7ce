"""The topic of an index: a thread follows it, anybody appends.

    step of the thread | what happens                                                        | ends with
    find               | the last record names the anchor of the last snapshot; without one   | a place to begin at
                       | the beginning                                                       |
    search             | `replay` looks for a state from there on, else from the beginning   | known, or it raises
    follow             | records are applied as they come                                    | a lost connection
    resume             | begins at the last record that was applied; if that is gone, finds  | follow, or find
                       | a state anew                                                        |

Reading after writing: `sync` asks the broker for the end of the log and waits until all up to there is applied. So what
any process was told is written before is seen.

A record of our own is applied when its receipt comes, if it lies directly behind the last one in the same ledger: then
nothing can lie between. Else it is applied when the thread comes to it. Either way in the order of the log.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import Kind, Record, decode, encode, new_id
from pyspark_pulsar.checkpoint.index.replay import Replay, anchors_in
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.checkpoint.messages.place import Place, place_text
from pyspark_pulsar.checkpoint.messages.reader import MessageReader
from pyspark_pulsar.checkpoint.messages.writer import LogWriter
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.commands import signed
from pyspark_pulsar.client.broker.connection import await_answer
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.errors import CheckpointLost, ConnectionFailed, DeadlineExceeded, PulsarError
from pyspark_pulsar.position import EARLIEST, Position

_log: Final = logging.getLogger(__name__)

_PERMITS: Final = 1_000
_TAKE_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.5
_RESUME_SECONDS: Final = 10.0
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)

T = TypeVar("T")


class IndexLog:
    """Of one checkpoint whose topic exists. Close it."""

    def __init__(self, client: BrokerClient, writer: LogWriter, topic: str) -> None:
        """`client`: for the thread alone; closed by `close`, as is `writer`."""
        self.topic = topic
        self.writer = writer
        self._client = client
        self._changed = threading.Condition()
        self._replay = Replay(topic)
        self._consumer: EntryConsumer | None = None
        self._is_empty = False
        self._failure: PulsarError | None = None
        self._fault: ConnectionFailed | None = None
        """The last that may pass."""
        self._closed = False
        self._waiting: dict[str, Future[Outcome]] = {}
        self._thread = threading.Thread(target=self._run, name=f"index {topic}", daemon=True)
        self._thread.start()

    # Any thread

    @property
    def failure(self) -> PulsarError | None:
        """Why this log is of no use any more."""
        return self._failure

    def look(self, question: Callable[[IndexState], T]) -> T:
        """What `question` makes of the state, which must not change meanwhile and must not be kept."""
        with self._changed:
            self._raise_failure()
            state = self._replay.state
            if state is None:
                raise CheckpointLost(f"{self.topic}: expected the index to be read, got an empty one")
            return question(state)

    def look_at_replay(self, question: Callable[[Replay], T]) -> T:
        with self._changed:
            return question(self._replay)

    @property
    def owner(self) -> str:
        """The last that is known here."""
        with self._changed:
            return self._replay.state.owner if self._replay.state is not None else ""

    def body(self, file_id: str) -> bytes | None:
        """Of an inline file, if it is kept here."""
        with self._changed:
            return self._replay.bodies.get(file_id)

    def keep_body(self, file_id: str, body: bytes) -> None:
        with self._changed:
            self._replay.bodies.put(file_id, body)

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
        with self._changed:
            self._raise_failure()
            seen, anchor = self._replay.last, self._replay.anchor
        now = time.time_ns() // 1_000_000
        record = Record(kind, record_id or new_id(), owner, now, seen, anchor, details or {}, body)
        outcome: Future[Outcome] = Future()
        with self._changed:
            self._waiting[record.id] = outcome
        try:
            sent = self.writer.send(encode(record), deadline)
            sent.add_done_callback(lambda answer: self._stored(record, answer))
            self.writer.wait(sent, deadline)
            return self._outcome(record, outcome, deadline) if wait else Outcome.DONE
        finally:
            with self._changed:
                self._waiting.pop(record.id, None)

    def close(self) -> None:
        """Ends the thread; whoever waits gets `ConnectionFailed`."""
        with self._changed:
            self._closed = True
            self._failure = self._failure or ConnectionFailed(f"{self.topic}: the index was closed")
            self._changed.notify_all()
        self.writer.close()
        self._client.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _ready(self, deadline: Deadline, doing: str) -> EntryConsumer | None:
        """The consumer of a log whose state is known; None for an empty log."""
        with self._changed:
            while True:
                self._raise_failure()
                if self._consumer is not None and self._consumer.is_open:
                    if self._replay.state is not None:
                        return self._consumer
                    if self._is_empty:
                        return None
                self._changed.wait(min(_POLL_SECONDS, deadline.left(doing, self._fault)))

    def _end(self, consumer: EntryConsumer, deadline: Deadline, doing: str) -> Place | None:
        """Of the last message; None when the connection was lost meanwhile, or there is none any more."""
        try:
            answer = consumer.request_log_end()
            while True:
                try:
                    last = await_answer(
                        answer, doing, min(_POLL_SECONDS, deadline.left(doing))
                    ).last_message_id
                except DeadlineExceeded:
                    deadline.left(doing, self._fault)
                    if not consumer.is_open:
                        return None
                    continue
                place = signed(last.ledgerId), signed(last.entryId)
                if min(place) >= 0:
                    return place
                self._emptied(consumer)
                return None
        except DeadlineExceeded:
            raise
        except ConnectionFailed as fault:
            with self._changed:
                self._fault = fault
            time.sleep(_PAUSES[0])
            return None

    def _emptied(self, consumer: EntryConsumer) -> None:
        """A log that had records has none: let the thread see whether the one that it knows is there."""
        _log.warning("%s: expected records, got an empty topic", self.topic)
        consumer.close()
        consumer.on_closed(ConnectionFailed(f"{self.topic}: the topic was emptied"))

    def _reach(self, consumer: EntryConsumer, end: Place, deadline: Deadline, doing: str) -> bool:
        with self._changed:
            while True:
                self._raise_failure()
                replay = self._replay
                if replay.state is not None and replay.last is not None and replay.last >= end:
                    return True
                if not consumer.is_open or consumer is not self._consumer:
                    return False
                self._changed.wait(min(_POLL_SECONDS, deadline.left(doing, self._fault)))

    def _outcome(self, record: Record, outcome: Future[Outcome], deadline: Deadline) -> Outcome:
        doing = f"{self.topic}: waiting for what became of a {record.kind} record"
        while True:
            try:
                return outcome.result(timeout=min(_POLL_SECONDS, deadline.left(doing, self._fault)))
            except TimeoutError:
                with self._changed:
                    self._raise_failure()

    def _stored(self, record: Record, answer: Future[Place | None]) -> None:
        """On the connection's thread: apply it at once where that is its turn."""
        if answer.cancelled() or answer.exception() is not None:
            return
        place = answer.result()
        with self._changed:
            last = self._replay.last
            if place is None or last is None or self._replay.state is None or self._failure is not None:
                return
            if place == (last[0], last[1] + 1):
                # What is wrong is noted, for whoever waits.
                with contextlib.suppress(PulsarError):
                    self._take(place, record)

    # Under the lock

    def _take(self, place: Place, record: Record) -> None:
        try:
            outcome = self._replay.take(place, record)
        except PulsarError as fault:
            self._fail(fault)
            raise
        waiting = self._waiting.get(record.id)
        if waiting is not None and outcome is not None and not waiting.done():
            waiting.set_result(outcome)
        self._changed.notify_all()

    def _fail(self, fault: PulsarError) -> None:
        self._failure = self._failure or fault
        self._changed.notify_all()

    # The following thread

    def _run(self) -> None:
        attempt = 0
        while not self._closed:
            try:
                self._follow()
                attempt = 0
            except ConnectionFailed as fault:
                with self._changed:
                    self._fault = fault
                    self._changed.notify_all()
                self._client.forget_owner(self.topic)
                time.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
                attempt += 1
            except PulsarError as fault:
                with self._changed:
                    self._fail(fault)
                return
            except Exception as fault:  # noqa: BLE001 -- a thread that dies must tell its waiters why
                with self._changed:
                    self._fail(CheckpointLost(f"{self.topic}: reading the index failed: {fault!r}"))
                return

    def _follow(self) -> None:
        """Until the connection is lost."""
        with self._changed:
            last = self._replay.last if self._replay.state is not None else None
        if last is not None:
            self._resume(last)
            return
        for start in self._find_starts():
            if self._search(start):
                return
        self._search(None)

    def _find_starts(self) -> list[Place]:
        """Anchors to begin at, of which the last record tells: its own if it ends a snapshot, and the one that its
        writer knew. None of them may be there any more."""
        consumer = subscribe(self._client, self.topic, None)
        try:
            end = consumer.end()
        finally:
            consumer.close()
        if end == EARLIEST:
            return []
        start = Position(end.ledger, end.entry - 1)
        consumer = subscribe(self._client, self.topic, start)
        try:
            reader = MessageReader(self.topic, start)
            consumer.add_permits(_PERMITS)
            deadline = time.monotonic() + self._client.request_seconds
            while time.monotonic() < deadline:
                entries = consumer.take(_TAKE_SECONDS)
                if entries is not None:
                    for place, payload in reader.read(entries):
                        return anchors_in(decode(payload, self._where(place)))
        finally:
            consumer.close()
        raise DeadlineExceeded(f"{self.topic}: expected the last record at {start}, got none in time")

    def _search(self, start: Place | None) -> bool:
        """Whether a state was found from there on; then it is followed until the connection is lost."""
        replay = Replay(self.topic)
        consumer = subscribe(self._client, self.topic, Position(*start) if start else EARLIEST)
        try:
            end = consumer.end()
            if end == EARLIEST:
                self._wait_for_first(consumer)
                return True
            reader = MessageReader(self.topic)
            target = (end.ledger, end.entry - 1)
            for place, record in self._records(consumer, reader, self._client.request_seconds):
                if start is not None and replay.last is None and place != start:
                    return False
                replay.take(place, record)
                if place >= target:
                    break
            if replay.state is None:
                self._raise_unfounded(start, replay)
                return False
            self._begin(replay, consumer)
            self._apply_all(consumer, reader)
        finally:
            consumer.close()
        return True

    def _raise_unfounded(self, start: Place | None, replay: Replay) -> None:
        if start is not None:
            return
        raise CheckpointLost(
            f"{self.topic}: expected a FORMAT record or a whole snapshot at the beginning of the index, got neither in "
            f"its records up to {place_text(replay.last)}: the beginning was removed, by a truncation, message TTL, "
            f"backlog eviction or a subscription {'pyspark-pulsar-checkpoint'!r} that was moved or deleted; restore "
            f"the checkpoint from a copy (pyspark-pulsar checkpoint copy)"
        )

    def _begin(self, replay: Replay, consumer: EntryConsumer) -> None:
        with self._changed:
            self._replay, self._consumer, self._is_empty, self._fault = replay, consumer, False, None
            self._changed.notify_all()

    def _wait_for_first(self, consumer: EntryConsumer) -> None:
        """An empty log, until there is a record."""
        with self._changed:
            self._is_empty, self._consumer = True, consumer
            self._changed.notify_all()
        reader = MessageReader(self.topic)
        for place, record in self._records(consumer, reader):
            replay = Replay(self.topic)
            replay.take(place, record)
            if replay.state is None:
                raise CheckpointLost(
                    f"{self.topic}: expected a FORMAT record as the first one, got {record.kind}; the index was "
                    f"emptied or made again while it was in use; restore the checkpoint from a copy"
                )
            self._begin(replay, consumer)
            self._apply_all(consumer, reader)

    def _resume(self, last: Place) -> None:
        consumer = subscribe(self._client, self.topic, Position(*last))
        try:
            reader = MessageReader(self.topic)
            if consumer.end() == EARLIEST:
                self._forget_state()
                return
            try:
                first, _ = next(self._records(consumer, reader, _RESUME_SECONDS))
            except DeadlineExceeded:
                first = None
            if first != last:
                self._forget_state()
                return
            with self._changed:
                self._consumer, self._fault = consumer, None
                self._changed.notify_all()
            self._apply_all(consumer, reader)
        finally:
            consumer.close()

    def _forget_state(self) -> None:
        """What was applied last is not there any more: find a state anew. What waits for an outcome never learns it."""
        with self._changed:
            self._replay, self._consumer = Replay(self.topic), None
            waiting, self._waiting = self._waiting, {}
            self._changed.notify_all()
        for outcome in waiting.values():
            if not outcome.done():
                outcome.set_exception(
                    ConnectionFailed(
                        f"{self.topic}: the connection was lost for so long that what became of a record is not known"
                    )
                )

    def _apply_all(self, consumer: EntryConsumer, reader: MessageReader) -> None:
        for place, record in self._records(consumer, reader):
            with self._changed:
                if self._replay.last is None or place > self._replay.last:
                    self._take(place, record)

    def _records(
        self, consumer: EntryConsumer, reader: MessageReader, patience_seconds: float = math.inf
    ) -> Iterator[tuple[Place, Record]]:
        """Endless, until the log is closed or the connection is lost; raises `DeadlineExceeded` when none comes for so
        long. Another iterator over the same consumer and reader goes on where one was left."""
        since = time.monotonic()
        if not reader.is_granted:
            consumer.add_permits(_PERMITS)
            reader.is_granted = True
        while not self._closed:
            while reader.decoded:
                place, payload = reader.decoded.popleft()
                yield place, decode(payload, self._where(place))
            entries = consumer.take(_TAKE_SECONDS)
            if entries is not None:
                consumer.add_permits(entries.num_messages)
                reader.decoded.extend(reader.read(entries))
                since = time.monotonic()
            elif time.monotonic() - since > patience_seconds:
                raise DeadlineExceeded(
                    f"{self.topic}: expected records, got none within {patience_seconds:.0f} s"
                )
        raise ConnectionFailed(f"{self.topic}: the index was closed")

    def _where(self, place: Place) -> str:
        return f"{self.topic}, message {place_text(place)}"
