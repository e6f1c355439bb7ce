"""Entries of a split through the broker that owns the topic partition. Executor only.

The broker pushes; what arrives twice after a reconnect or lies outside the range is dropped by position in
the decoder, so a reconnect neither loses nor repeats a row: it subscribes again behind the last entry taken.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.errors import ConnectionFailed, DataLossError, DeadlineExceeded
from pyspark_pulsar.position import EARLIEST, Position, after_entry
from pyspark_pulsar.read.sources.prefetch import EntrySize, PrefetchingConsumers
from pyspark_pulsar.read.sources.skipped import cut_where_passed_over, first_entry
from pyspark_pulsar.topic import TopicPartition

_LOOK_AGAIN_SECONDS = 1.0
# Brokers move consumers to the topic's end when someone clears backlogs or truncates, and do not tell them. Doubled
# each time, so that a broker that is slow is not asked to begin anew for ever.
_STARVED_SECONDS = 4.0
_HIDDEN = " (the broker shows no message of the topic at all; if that lasts, unload the topic)"


class BrokerEntries:
    """Iterate once. Raises `DeadlineExceeded` when `poll_seconds` pass without progress."""

    def __init__(
        self,
        client: BrokerClient,
        partition: TopicPartition,
        start: Position,
        end: Position,
        *,
        permits: int,
        poll_seconds: float,
        read_compacted: bool = False,
        consumers: int = 1,
    ) -> None:
        """`permits`: messages that may wait for a consumer. `consumers`: how many may read parts of the range at a
        time, where that is faster; of a compacted view never more than one."""
        self._client = client
        self._partition = partition
        self._end = end
        self._permits = permits
        self._poll_seconds = poll_seconds
        self._read_compacted = read_compacted
        self._next = start
        self._consumer: EntryConsumer | None = None
        self._granted = 0
        """Messages that the broker may still send; below 0 when an entry had more."""
        self._entries = 0
        self._messages = 0
        self._nbytes = 0
        self._idle_since = 0.0
        self._starved_seconds = _STARVED_SECONDS
        self._fault: ConnectionFailed | None = None
        self._unproven: tuple[Position, tuple[int, int]] | None = None
        """What should have come, and what did, when nobody could say whether there is something between."""
        self._is_hidden = False
        """The topic knows our position and shows no message: its transaction buffer is not there yet. Brokers (seen on
        4.0.8) may never have it again when they unload a topic twice within a moment."""
        self._ahead = PrefetchingConsumers(
            client, partition.name, end, permits=permits, most=0 if read_compacted else consumers - 1
        )

    def __iter__(self) -> Generator[EntryBatch, None, None]:
        """Entries in order; the first may begin before the range and the last end behind it."""
        deadline = time.monotonic() + self._poll_seconds
        try:
            while self._next < self._end:
                entries = self._take(deadline)
                if entries is not None:
                    yield entries
                    deadline = time.monotonic() + self._poll_seconds
                elif not self._can_come(deadline):
                    return
        finally:
            self._drop_consumer()

    def _take(self, deadline: float) -> EntryBatch | None:
        if time.monotonic() > deadline:
            fault = (
                f" (the last attempt: {self._fault})" if self._fault else _HIDDEN if self._is_hidden else ""
            )
            raise DeadlineExceeded(
                f"{self._partition}: expected messages from {self._next} up to {self._end}, got none "
                f"within {self._poll_seconds:.0f} s{fault}; raise pollTimeoutMs if the broker is slow, and check "
                f"that retention has not removed the range"
            )
        try:
            consumer = self._subscribed(deadline)
            entries = consumer.take(_LOOK_AGAIN_SECONDS)
            if entries is not None and self._passed_over(consumer, entries, deadline):
                self._drop_consumer()
        except ConnectionFailed as fault:
            # What fails because the time is over says nothing of the cause.
            if self._fault is None or time.monotonic() < deadline:
                self._fault = fault
            self._drop_consumer()
            self._client.forget_owner(self._partition.name)
            return None
        if entries is None or entries.last is None:
            return None
        self._next = max(self._next, after_entry(*entries.last))
        self._fault, self._idle_since, self._starved_seconds = None, time.monotonic(), _STARVED_SECONDS
        self._is_hidden = False
        messages = entries.num_messages
        self._granted -= messages
        self._messages += messages
        self._entries += len(entries)
        self._nbytes += entries.nbytes
        if self._consumer is not None:
            self._ahead.look(consumer.connection, self._next, self._mean_entry())
            # What was received counts all the same; the next call finds the consumer gone and comes again.
            with contextlib.suppress(ConnectionFailed):
                self._grant(consumer)
        return entries

    def _passed_over(self, consumer: EntryConsumer, entries: EntryBatch, deadline: float) -> bool:
        def mark_delete() -> Position:
            return consumer.log_end(deadline - time.monotonic(), self._ahead.drop).mark_delete

        def first_behind(start: Position) -> tuple[int, int] | None:
            with self._client.another() as client, client.until(deadline):
                return first_entry(self._subscribe(client, start), start, deadline)

        if entries.first is None:
            return False
        attempt = self._next, entries.first
        # A consumer that began there got the same: connections that break at each question must not stop us.
        following = Position(*entries.first) if attempt == self._unproven else self._next
        self._unproven = attempt
        is_cut = cut_where_passed_over(entries, following, mark_delete, first_behind)
        self._unproven = None
        return is_cut

    def _subscribe(self, client: BrokerClient, start: Position) -> EntryConsumer:
        return subscribe(client, self._partition.name, start, read_compacted=self._read_compacted)

    def _mean_entry(self) -> EntrySize:
        return EntrySize(self._messages / self._entries, self._nbytes / self._entries)

    def _subscribed(self, deadline: float) -> EntryConsumer:
        if self._consumer is not None and self._ahead.border <= self._next:
            self._consumer.close()
            with self._client.until(deadline):
                self._consumer, self._granted = self._ahead.take_over(self._next) or (None, 0)
            if self._consumer is not None:
                self._idle_since = time.monotonic()
                self._grant(self._consumer)
        if self._consumer is None:
            patience = max(0.1, deadline - time.monotonic())
            with self._client.until(deadline):
                self._consumer = self._client.retrying(
                    lambda: self._subscribe(self._client, self._next), patience
                )
            self._granted = 0
            self._idle_since = time.monotonic()
            self._grant(self._consumer)
        return self._consumer

    def _grant(self, consumer: EntryConsumer) -> None:
        """Let the broker send as much as it may, but hardly more than the range still holds."""
        wanted = max(1, min(self._permits, self._expected()))
        if self._granted <= wanted // 2 and self._next < self._ahead.border:
            consumer.add_permits(wanted - self._granted)
            self._granted = wanted

    def _expected(self) -> int:
        """Messages that may still come, by those that came; no bound where the part ends in another ledger."""
        border = self._ahead.border
        if self._next.ledger != border.ledger:
            return self._permits
        entries = border.entry - self._next.entry + 1
        return entries if self._entries == 0 else entries * -(-self._messages // self._entries)

    def _can_come(self, deadline: float) -> bool:
        """The range was planned up to a message that consumers could see; whether the rest can still come.

        False when compaction has removed it since. Raises `DataLossError` when it is gone for another reason:
        the topic now ends before it.
        """
        if self._consumer is None:
            return True
        try:
            # What waits for those ahead may fill the buffer.
            self._ahead.drop()
            self._grant(self._consumer)
            tail = self._consumer.log_end(deadline - time.monotonic())
        except ConnectionFailed as fault:
            self._fault = fault
            self._drop_consumer()
            return True
        self._is_hidden = tail.end.is_earliest and EARLIEST < tail.mark_delete <= self._next
        if tail.end > self._next or self._is_hidden:
            self._begin_anew_if_starved()
            return True
        if self._read_compacted:
            return False
        raise DataLossError(
            f"{self._partition}: expected messages from {self._next} up to {self._end}, but the topic "
            f"now ends at {tail.end}: they were removed (retention, truncation, or the topic was made again) "
            f"after the read was planned"
        )

    def _begin_anew_if_starved(self) -> None:
        if time.monotonic() - self._idle_since > self._starved_seconds:
            self._starved_seconds *= 2
            self._drop_consumer()

    def _drop_consumer(self) -> None:
        self._ahead.drop()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
