"""The thread that reads the topic of an index and applies its records.

    step    | action                                                                | ends with
    find    | read the last record, which names the anchor of the last snapshot;    | a start position
            | if no anchor is named, start at the beginning                         |
    search  | search a state in the records from the start on (`replay`);           | follow, or missed
            | if no state is found, search from the first record on                 |
    follow  | apply records as they arrive                                          | a lost connection, or missed
    resume  | read from the last applied record on; if this record was removed,     | follow, or find
            | drop the state                                                        |
    missed  | drop the state, because records are missing                           | find, or an error

How missing records are detected
    A record names the last record that its writer had applied (`replay`). If a writer had not read the last records of
    a ledger, its record does not reveal that these records are missing. So the reader also requests the position of its
    cursor from the broker at the end of each ledger.

Missed, or lost
    The broker removes records before the anchor of a snapshot (`upkeep`), even if a connected reader has not read the
    records. The broker moves the reader's cursor without a message to the reader. The reader then misses records, but
    nothing is lost, because the snapshot contains the effects of the records. So a reader that misses records before a
    position P searches a state again. Upkeep removes the oldest records, and never removes the record at the last
    anchor or later records. The new search begins at the last anchor, at a later anchor, or at the first remaining
    record. So upkeep does not remove records that the new search needs. If the search still misses records before P or
    before an earlier position, upkeep did not remove these records, and the reader raises `CheckpointLost`. If the
    search misses records only after P, upkeep has removed these records during the search, and the reader searches
    again. Upkeep removes records only after it stores another snapshot. So the searches end when upkeep stores no
    snapshot during a search.
"""

from __future__ import annotations

import math
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
from pyspark_pulsar.runtime import time

_PERMITS: Final = 1_000
_TAKE_SECONDS: Final = 1.0
_RESUME_SECONDS: Final = 10.0
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)


class IndexFollower:
    """The reader of one index topic.

    A thread calls `run`, which returns when `view` is closed or has failed.
    """

    def __init__(self, client: BrokerClient, topic: str, view: IndexView) -> None:
        """Store the arguments. Only the thread of `run` uses the client; the owner of `view` closes the client."""
        self.topic = topic
        self._client = client
        self._view = view
        self._missed: MessagePosition | None = None
        """Position of the first record after the last detected gap; None if no gap was detected."""

    def run(self) -> None:
        """Apply records until the view is closed or has failed; connect again after a lost connection."""
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
            except Exception as fault:  # noqa: BLE001 -- a thread that dies must report the reason to its waiters
                with self._view.changed:
                    self._view.fail(CheckpointLost(f"{self.topic}: reading the index failed: {fault!r}"))
                return

    def _follow(self) -> None:
        """Apply records until the connection is lost."""
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
        """Return the anchors in the last record. A search can begin at each of these anchors.

        If the last record completes a snapshot, the first anchor is the anchor of this snapshot. The other anchor
        belongs to the last snapshot that the record's writer had read. The records at these anchors may have been
        removed.
        """
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
                        return anchors_in(decode(payload, self._describe(position)))
        finally:
            consumer.close()
        raise DeadlineExceeded(
            f"{self.topic}: expected the last record at {start}, got no record within "
            f"{self._client.request_seconds:.0f} s; check that the brokers can be reached"
        )

    def _search(self, start: MessagePosition | None) -> bool:
        """Search a state in the records from `start` on. After a state is found, apply further records.

        The call applies records until the connection is lost. If `start` is None, the search begins at the first
        record.

        Returns:
            True if a state was found; False if the records from `start` on contain no state.

        """
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
                self._raise_if_beginning_lost(start, replay)
                return False
            self._view.begin(replay, consumer)
            self._apply_all(consumer, reader)
        finally:
            consumer.close()
        return True

    def _raise_if_beginning_lost(self, start: MessagePosition | None, replay: Replay) -> None:
        if start is not None or replay.searched_from is None:
            return
        raise RecordsMissed(
            f"{self.topic}: expected a FORMAT record or a whole snapshot at the beginning of the index, got neither "
            f"in its records up to {position_text(replay.last)}. The beginning was removed by a truncation, message "
            f"TTL, backlog eviction or a subscription {'pyspark-pulsar-checkpoint'!r} that was moved or deleted; "
            f"restore the checkpoint from a copy (pyspark-pulsar checkpoint copy)",
            replay.searched_from,
        )

    def _wait_for_first(self, consumer: EntryConsumer) -> None:
        """Wait until an empty log has a record, and follow the log from this record on."""
        with self._view.changed:
            self._view.is_empty, self._view.consumer = True, consumer
            self._view.changed.notify_all()
        reader = MessageReader(self.topic)
        for position, record in self._records(consumer, reader):
            replay = Replay(self.topic)
            replay.take(position, record)
            if replay.state is None:
                raise RecordsMissed(
                    f"{self.topic}: expected a FORMAT record as the first one, got {record.kind}: the index was "
                    f"emptied or created again while it was in use; restore the checkpoint from a copy "
                    f"(pyspark-pulsar checkpoint copy)",
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
                    # The cursor has not passed the last record, so this record is not removed: the broker is still
                    # loading the topic.
                    raise ConnectionFailed(
                        f"{self.topic}: expected a last message, got none from the broker; trying again"
                    )
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
        self, consumer: EntryConsumer, reader: MessageReader, timeout_seconds: float = math.inf
    ) -> Iterator[tuple[MessagePosition, Record]]:
        """Yield records, and wait for new ones, until the log is closed or the connection is lost.

        A new iterator over the same consumer and reader resumes after the last record of the previous iterator.

        Raises:
            DeadlineExceeded: No record arrived for `timeout_seconds`.

        """
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
                yield position, decode(payload, self._describe(position))
            entries = consumer.take(_TAKE_SECONDS)
            if entries is not None:
                consumer.add_permits(entries.num_messages)
                reader.decoded.extend(reader.read(entries))
                since = time.monotonic()
            elif time.monotonic() - since > timeout_seconds:
                raise DeadlineExceeded(
                    f"{self.topic}: expected records, got none within {timeout_seconds:.0f} s"
                )
        raise ConnectionFailed(f"{self.topic}: the index was closed")

    def _require_nothing_between(
        self, consumer: EntryConsumer, last: MessagePosition, position: MessagePosition
    ) -> None:
        """Check that the broker has not moved the reader's cursor over unread entries at the end of a ledger.

        The reader acknowledges no entries. If entries are removed, the broker moves the reader's cursor to the position
        after the removed entries. Without a removal, a cursor moves only from the end of a ledger to entry 0 of the
        next ledger. `read.log_end` describes how brokers move cursors.

        Raises:
            RecordsMissed: The broker has removed records that were not read.

        """
        passed = consumer.log_end().mark_delete
        if passed > Position(last[0], last[1] + 1) and passed.entry != 0:
            raise RecordsMissed(
                f"{self.topic}: expected the records after {position_text(last)}, got the record at "
                f"{position_text(position)}. The broker removed all records up to {passed}, by a truncation or an "
                f"expiry; restore the checkpoint from a copy (pyspark-pulsar checkpoint copy)",
                position,
            )

    def _describe(self, position: MessagePosition) -> str:
        return f"{self.topic}, message {position_text(position)}"
