"""The thread that reads the topic of an index and applies its records.

    step    | what happens                                                               | ends with
    find    | the last record names the anchor of the last snapshot; without one it is   | a position to begin at
            | the beginning                                                              |
    search  | `replay` looks for a state from there on, else from the beginning          | follow, or missed
    follow  | records are applied as they come                                           | a lost connection, or missed
    resume  | begins at the last record that was applied                                 | follow, or find if it is gone
    missed  | records did not come that were written: a state is found anew              | find, or it raises

How missing records are seen
    A record names the last one that its writer had seen (`replay`). The writer may not have seen the last records of a
    ledger, so where a ledger ends the reader also asks how far the broker has moved its cursor.

Missed, or lost
    The broker removes what lies before the anchor of a snapshot (`upkeep`), also under a reader that is there and has
    not read it: its cursor is moved on without a word. Such a reader misses records of which nothing is lost, as the
    snapshot says what they said.
    So who misses records before one at P searches anew. Upkeep removes from the front and leaves the anchor. So a
    search that begins now does not miss them: it begins at that anchor or a later one, or at the first record that is
    left, which is behind what was removed. If it misses records before P or an earlier one all the same, they were not
    removed by upkeep: `CheckpointLost`. If it misses others, later ones, upkeep has removed those meanwhile, and the
    same goes for them. So each search but the last needs another snapshot, and the end of the searches is that of the
    snapshots.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final

from pyspark_pulsar.checkpoint.index.records import Record, decode
from pyspark_pulsar.checkpoint.index.replay import RecordsMissed, Replay, anchors_in
from pyspark_pulsar.checkpoint.index.view import IndexView
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, position_text
from pyspark_pulsar.checkpoint.messages.message_reader import MessageReader
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.errors import CheckpointLost, ConnectionFailed, DeadlineExceeded, PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position

_PERMITS: Final = 1_000
_TAKE_SECONDS: Final = 1.0
_RESUME_SECONDS: Final = 10.0
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)


class IndexFollower:
    """Of one topic; `run` is its thread, which ends when `view` is closed or has failed."""

    def __init__(self, client: BrokerClient, topic: str, view: IndexView) -> None:
        """`client`: for the thread alone; whoever closes the view closes it."""
        self.topic = topic
        self._client = client
        self._view = view
        self._missed: MessagePosition | None = None
        """Before this record some were missed, the last time."""

    def run(self) -> None:
        attempt = 0
        while not self._view.closed:
            try:
                self._follow()
                attempt = 0
            except ConnectionFailed as fault:
                with self._view.changed:
                    self._view.fault = fault
                    self._view.changed.notify_all()
                self._client.forget_owner(self.topic)
                time.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
                attempt += 1
            except RecordsMissed as missed:
                if self._missed is not None and missed.before <= self._missed:
                    with self._view.changed:
                        self._view.fail(CheckpointLost(str(missed)))
                    return
                self._missed = missed.before
                self._view.forget_state()
            except PulsarError as fault:
                with self._view.changed:
                    self._view.fail(fault)
                return
            except Exception as fault:  # noqa: BLE001 -- a thread that dies must tell its waiters why
                with self._view.changed:
                    self._view.fail(CheckpointLost(f"{self.topic}: reading the index failed: {fault!r}"))
                return

    def _follow(self) -> None:
        """Until the connection is lost."""
        with self._view.changed:
            last = self._view.replay.last if self._view.replay.state is not None else None
        if last is not None:
            self._resume(last)
            return
        for start in self._find_starts():
            if self._search(start):
                return
        self._search(None)

    def _find_starts(self) -> list[MessagePosition]:
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
                    for position, payload in reader.read(entries):
                        return anchors_in(decode(payload, self._where(position)))
        finally:
            consumer.close()
        raise DeadlineExceeded(f"{self.topic}: expected the last record at {start}, got none in time")

    def _search(self, start: MessagePosition | None) -> bool:
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
            for position, record in self._records(consumer, reader, self._client.request_seconds):
                if start is not None and replay.last is None and position != start:
                    return False
                replay.take(position, record)
                if position >= target:
                    break
            if replay.state is None:
                self._raise_unfounded(start, replay)
                return False
            self._view.begin(replay, consumer)
            self._apply_all(consumer, reader)
        finally:
            consumer.close()
        return True

    def _raise_unfounded(self, start: MessagePosition | None, replay: Replay) -> None:
        if start is not None or replay.searched_from is None:
            return
        raise RecordsMissed(
            f"{self.topic}: expected a FORMAT record or a whole snapshot at the beginning of the index, got neither in "
            f"its records up to {position_text(replay.last)}: the beginning was removed, by a truncation, message TTL, "
            f"backlog eviction or a subscription {'pyspark-pulsar-checkpoint'!r} that was moved or deleted; restore "
            f"the checkpoint from a copy (pyspark-pulsar checkpoint copy)",
            replay.searched_from,
        )

    def _wait_for_first(self, consumer: EntryConsumer) -> None:
        """An empty log, until there is a record."""
        with self._view.changed:
            self._view.is_empty, self._view.consumer = True, consumer
            self._view.changed.notify_all()
        reader = MessageReader(self.topic)
        for position, record in self._records(consumer, reader):
            replay = Replay(self.topic)
            replay.take(position, record)
            if replay.state is None:
                raise RecordsMissed(
                    f"{self.topic}: expected a FORMAT record as the first one, got {record.kind}; the index was "
                    f"emptied or made again while it was in use; restore the checkpoint from a copy",
                    position,
                )
            self._view.begin(replay, consumer)
            self._apply_all(consumer, reader)

    def _resume(self, last: MessagePosition) -> None:
        consumer = subscribe(self._client, self.topic, Position(*last))
        try:
            reader = MessageReader(self.topic)
            log = consumer.log_end()
            if log.end == EARLIEST:
                if EARLIEST < log.mark_delete <= Position(*last):
                    # The cursor is where it was put, so the record is there: the topic is not whole again yet.
                    raise ConnectionFailed(f"{self.topic}: expected a last message, got none of the broker")
                self._view.forget_state()
                return
            try:
                first, _ = next(self._records(consumer, reader, _RESUME_SECONDS))
            except DeadlineExceeded:
                first = None
            if first != last:
                self._view.forget_state()
                return
            with self._view.changed:
                self._view.consumer, self._view.fault = consumer, None
                self._view.changed.notify_all()
            self._apply_all(consumer, reader)
        finally:
            consumer.close()

    def _apply_all(self, consumer: EntryConsumer, reader: MessageReader) -> None:
        for position, record in self._records(consumer, reader):
            with self._view.changed:
                if self._view.replay.last is None or position > self._view.replay.last:
                    self._view.take(position, record)

    def _records(
        self, consumer: EntryConsumer, reader: MessageReader, patience_seconds: float = math.inf
    ) -> Iterator[tuple[MessagePosition, Record]]:
        """Endless, until the log is closed or the connection is lost; raises `DeadlineExceeded` when none comes for so
        long. Another iterator over the same consumer and reader goes on where one was left."""
        since = time.monotonic()
        if not reader.is_granted:
            consumer.add_permits(_PERMITS)
            reader.is_granted = True
        while not self._view.closed:
            while reader.decoded:
                position, payload = reader.decoded.popleft()
                if reader.last is not None and position[0] != reader.last[0]:
                    self._require_nothing_between(consumer, reader.last, position)
                reader.last = position
                yield position, decode(payload, self._where(position))
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

    def _require_nothing_between(
        self, consumer: EntryConsumer, last: MessagePosition, position: MessagePosition
    ) -> None:
        """Where a ledger ends: that the broker has not moved the cursor over the rest of it. Raises `RecordsMissed`.

        The reader acknowledges nothing, so its cursor moves for no other reason: behind the entries that are removed.
        One that stands there already may be moved on to entry 0 of the next ledger, which tells nothing
        (`read.log_end` says how brokers do this)."""
        passed = consumer.log_end().mark_delete
        if passed > Position(last[0], last[1] + 1) and passed.entry != 0:
            raise RecordsMissed(
                f"{self.topic}: expected the records behind {position_text(last)}, got the one at "
                f"{position_text(position)}, as the broker has removed all up to {passed}, by a truncation or an "
                f"expiry; restore the checkpoint from a copy (pyspark-pulsar checkpoint copy)",
                position,
            )

    def _where(self, position: MessagePosition) -> str:
        return f"{self.topic}, message {position_text(position)}"
