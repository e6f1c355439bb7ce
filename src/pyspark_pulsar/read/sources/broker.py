"""Entries of a range from the broker that owns the topic partition. Used on executors, and by the driver's searches.

The broker pushes entries, as far as permits allow (FLOW). The broker does not inform a consumer about entries that the
broker leaves out. `BrokerEntries` stores the position of the next entry (`_next`), and ends when `_next` is the end of
the range:

    state        resource                  event and action                       next state
    NONE         no consumer               use the consumer that the task has     RECEIVING
                                           prepared (`ahead`), or subscribe at
                                           `_next`
    RECEIVING    a consumer with permits   entries arrive; `_next` is after them  RECEIVING
                                           ids are missing, but still exist       NONE, at the first id (`skipped`)
                                           `_next` is at the border of a part     RECEIVING, next consumer (`prefetch`)
                                           no entry for a second                  CHECKING
    CHECKING     the same                  the topic ends after `_next`           RECEIVING; NONE after some seconds
                                                                                  without entries, doubled each time
                                           the topic shows no message, but the    the same
                                           cursor is inside the topic
                                           otherwise, in a compacted view         end: compaction has removed the rest
                                           otherwise                              `DataLossError`
    any          -                         the connection fails                   NONE; the owner is looked up again
    any          -                         no entry for `poll_seconds`            `DeadlineExceeded`

No entry is lost between two consumers, because each consumer begins at `_next`. Then entries may arrive twice, or be
outside of the range. The caller drops such entries by their positions (`task.audit.RangeTally.take`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import ConnectionFailed, DataLossError, DeadlineExceeded
from pyspark_pulsar.model.position import EARLIEST, Position, after_entry
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.location import (
    EntryLocation,
    LedgerPart,
    Location,
    Missing,
    PartitionAccess,
    RangeProgress,
    ledger_parts,
    touches,
)
from pyspark_pulsar.read.loss_report import loss_reported
from pyspark_pulsar.read.sources.consumers_ahead import ConsumersAhead
from pyspark_pulsar.read.sources.peek import first_entry
from pyspark_pulsar.read.sources.prefetch import EntrySize, PrefetchingConsumers
from pyspark_pulsar.read.sources.skipped import cut_where_skipped
from pyspark_pulsar.runtime import time

_LOOK_AGAIN_SECONDS = 1.0
# Brokers move consumers to the topic's end without notice, when a backlog is cleared or a topic is truncated. So the
# reader subscribes again after this time, which doubles each time, so that a slow broker is not overloaded.
_STARVED_SECONDS = 4.0
_HIDDEN = " (the broker shows no message of the topic at all; if that lasts, unload the topic)"


@dataclass(frozen=True, slots=True)
class FromBroker(EntryLocation):
    """The broker that owns the topic partition.

    The broker can read all entries, wherever they are stored. The broker sends only entries for consumers: no markers,
    and no messages of aborted transactions.
    """

    name: ClassVar[str] = "broker"
    title: ClassVar[str] = "the broker"
    is_broker: ClassVar[bool] = True

    entries: int | None = None
    """Number of entries in the range, including entries that consumers never see; None if the number is unknown."""

    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """Yield the entries. The first entry may begin before the range, and the last entry may end after it.

        With `failOnDataLoss=false`, the iteration ends where entries were removed.

        Raises:
            PulsarError: For the same reasons as `BrokerEntries`.

        """
        options = access.options
        entries = BrokerEntries(
            access.client,
            access.partition,
            start,
            end,
            permits=options.receiver_queue_size,
            poll_seconds=options.poll_timeout_ms / 1000,
            read_compacted=options.read_compacted,
            consumers=options.consumers_per_split,
            ahead=access.ahead,
        )
        with loss_reported(fail=options.fail_on_data_loss):
            yield from entries

    def missing(self, start: Position, end: Position, progress: RangeProgress) -> Missing | None:
        """Return the part that may be lost; None if nothing is lost.

        Entries that consumers do not see are missing, too. But retention removes the oldest ledgers first. So nothing
        is lost while the first ledger of the range exists, because this ledger had entries of the range at planning
        time.
        """
        if start.is_earliest or (self.entries is not None and progress.entries >= self.entries):
            return None
        if progress.first is None or progress.first[0] > start.ledger:
            return Missing(start.ledger, f"messages from {start} on in ledger {start.ledger}")
        if self.entries is None:
            return None
        text = f"{self.entries} entries from {start} up to {end}, got {progress.entries}"
        return Missing(start.ledger, text, is_common=True)

    def ledger_parts(
        self, ledgers: Sequence[Ledger] | None, start: Position, end: Position
    ) -> tuple[LedgerPart, ...] | None:
        return None if ledgers is None else ledger_parts(ledgers, start, end)

    def gives(self, ledger: Ledger, start: Position, end: Position) -> bool:
        return touches(ledger, start, end)

    def with_entries(self, entries: int | None) -> FromBroker:
        return FromBroker(entries)

    def joined(self, following: Location, *, adjacent: bool) -> Location | None:
        """Return the location for both ranges, because the broker reads across the ends of ledgers."""
        del adjacent
        if not isinstance(following, FromBroker):
            return None
        if self.entries is None or following.entries is None:
            return FromBroker()
        return FromBroker(self.entries + following.entries)


class BrokerEntries:
    """An iterable over the entries of a range. Iterate over it only once.

    The iteration raises `DeadlineExceeded` if `poll_seconds` pass without progress.
    """

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
        ahead: ConsumersAhead | None = None,
    ) -> None:
        """Store the arguments.

        Args:
            client: The connections to brokers.
            partition: The topic partition.
            start: The first position of the range (inclusive).
            end: The end of the range (exclusive).
            permits: Maximum number of messages that the broker sends to one consumer in advance.
            poll_seconds: Maximum time without progress.
            read_compacted: Whether to read the compacted view.
            consumers: Maximum number of concurrent consumers for parts of the range, if several are faster. A compacted
                view always has one consumer.
            ahead: The consumers that the task has prepared. One of these consumers may be for this range.

        """
        self._client = client
        self._partition = partition
        self._end = end
        self._permits = permits
        self._poll_seconds = poll_seconds
        self._read_compacted = read_compacted
        self._ahead = ahead
        self._next = start
        self._consumer: EntryConsumer | None = None
        self._subscribed_at = start
        """The position at which the consumer was subscribed."""
        self._granted = 0
        """Number of messages that the broker may still send.

        The number is negative if an entry had more messages than permits.
        """
        self._entries = 0
        self._messages = 0
        self._nbytes = 0
        self._idle_since = 0.0
        self._starved_seconds = _STARVED_SECONDS
        self._fault: ConnectionFailed | None = None
        self._unproven: tuple[Position, tuple[int, int]] | None = None
        """The expected position and the first received entry, until it is known whether entries between them exist."""
        self._is_hidden = False
        """True if the position is in the topic but no message is visible, because the transaction buffer is not loaded.

        After two quick unloads of a topic, brokers (seen on 4.0.8) may never load the transaction buffer again.
        """
        self._prefetch = PrefetchingConsumers(
            client, partition.name, end, permits=permits, most=0 if read_compacted else consumers - 1
        )

    def __iter__(self) -> Generator[EntryBatch, None, None]:
        """Yield the entries in order. The first entry may begin before the range, and the last may end after it."""
        deadline = time.monotonic() + self._poll_seconds
        try:
            while self._next < self._end:
                entries = self._take(deadline)
                if entries is not None:
                    yield entries
                    deadline = time.monotonic() + self._poll_seconds
                elif not self._may_continue(deadline):
                    return
        finally:
            self._drop_consumer()

    def _take(self, deadline: float) -> EntryBatch | None:
        if time.monotonic() >= deadline:
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
            if entries is not None and self._skipped(consumer, entries, deadline):
                self._drop_consumer()
        except ConnectionFailed as fault:
            # A failure after the deadline is not the cause of the delay.
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
            self._prefetch.refill(consumer.connection, self._next, self._mean_entry())
            # The received entries are returned in any case. The next call finds the consumer closed and subscribes
            # again.
            with contextlib.suppress(ConnectionFailed):
                self._grant(consumer)
        return entries

    def _skipped(self, consumer: EntryConsumer, entries: EntryBatch, deadline: float) -> bool:
        """Return whether the broker has skipped entries.

        If so, cut `entries` to the entries before the skipped entries.
        """

        def mark_delete() -> Position:
            return consumer.log_end(deadline - time.monotonic(), self._make_room).mark_delete

        def first_after(start: Position) -> Position | None:
            with self._client.with_own_connections() as client, client.until(deadline):
                entry = first_entry(
                    client, self._partition, start, read_compacted=self._read_compacted, deadline=deadline
                )
            return None if entry is None else entry.position

        if entries.first is None:
            return False
        attempt = self._next, entries.first
        # If the previous consumer began at this position and received the same entry, do not check the gap again.
        # Otherwise a connection that fails at each check would repeat the check without end.
        following = Position(*entries.first) if attempt == self._unproven else self._next
        self._unproven = attempt
        is_cut = cut_where_skipped(entries, following, mark_delete, first_after)
        self._unproven = None
        return is_cut

    def _mean_entry(self) -> EntrySize:
        return EntrySize(self._messages / self._entries, self._nbytes / self._entries)

    def _subscribed(self, deadline: float) -> EntryConsumer:
        if self._consumer is not None and self._prefetch.border <= self._next:
            self._consumer.close()
            with self._client.until(deadline):
                self._consumer, self._granted = self._prefetch.take_over(self._next) or (None, 0)
            self._subscribed_at = EARLIEST
            if self._consumer is not None:
                self._idle_since = time.monotonic()
                self._grant(self._consumer)
        if self._consumer is None:
            with self._client.until(deadline):
                self._consumer, self._granted = self._take_prepared() or (self._new_consumer(deadline), 0)
            self._subscribed_at = self._next
            self._idle_since = time.monotonic()
            self._grant(self._consumer)
        return self._consumer

    def _take_prepared(self) -> tuple[EntryConsumer, int] | None:
        return None if self._ahead is None else self._ahead.take(self._partition, self._next)

    def _new_consumer(self, deadline: float) -> EntryConsumer:
        return self._client.retrying(self._subscribe, max(0.1, deadline - time.monotonic()))

    def _subscribe(self) -> EntryConsumer:
        return subscribe(self._client, self._partition.name, self._next, read_compacted=self._read_compacted)

    def _grant(self, consumer: EntryConsumer) -> None:
        """Grant permits for new messages, but hardly more than the number of messages that remain in the range."""
        permits = max(1, min(self._permits, self._expected()))
        if self._granted <= permits // 2 and self._next < self._prefetch.border:
            consumer.add_permits(permits - self._granted)
            self._granted = permits

    def _expected(self) -> int:
        """Estimate the number of remaining messages; `_permits` if the part ends in another ledger."""
        border = self._prefetch.border
        if self._next.ledger != border.ledger:
            return self._permits
        entries = border.entry - self._next.entry + 1
        return entries if self._entries == 0 else entries * -(-self._messages // self._entries)

    def _may_continue(self, deadline: float) -> bool:
        """Return whether the rest of the range may still arrive.

        The range was planned up to a message that consumers could see. If compaction has removed the rest since then,
        the result is false.

        Raises:
            DataLossError: The topic now ends before the rest, and the reason is not compaction.

        """
        if self._consumer is None:
            return True
        try:
            # The entries for later consumers may fill the buffer, so that the awaited entries do not arrive.
            self._prefetch.drop()
            if self._ahead is not None and self._consumer.connection.is_full:
                self._ahead.make_room()
            self._grant(self._consumer)
            tail = self._consumer.log_end(deadline - time.monotonic())
        except ConnectionFailed as fault:
            self._fault = fault
            self._drop_consumer()
            return True
        if self._partition.is_segment:
            return self._segment_may_continue(tail.mark_delete)
        # The cursor is before the end of the range, so entries of the range still exist. If the cursor has also moved
        # past the position, the ledger of the position was removed. `_skipped` then checks whether entries are missing.
        self._is_hidden = tail.end.is_earliest and EARLIEST < tail.mark_delete < self._end
        if tail.end > self._next or self._is_hidden:
            self._resubscribe_if_starved()
            return True
        if self._read_compacted:
            return False
        raise DataLossError(
            f"{self._partition}: expected messages from {self._next} up to {self._end}, but the topic "
            f"now ends at {tail.end}. The messages were removed after the read was planned (retention or truncation), "
            f"or the topic was created again; run a batch query again, or start a "
            f"streaming query with a new checkpoint"
        )

    def _segment_may_continue(self, mark_delete: Position) -> bool:
        """Return whether the rest of a segment's range may still arrive.

        The range was planned up to the last entry, whose transaction may be open or aborted. A broker moves a cursor
        past aborted entries if no other entry is before them. So the rest is aborted if a cursor has reached the end.
        The consumer of this cursor must have begun after the received entries.
        """
        if self._subscribed_at < self._next:
            self._drop_consumer()
            return True
        if mark_delete < self._end:
            self._resubscribe_if_starved()
            return True
        if mark_delete.ledger == self._end.ledger:
            return False
        raise DataLossError(
            f"{self._partition}: expected messages from {self._next} up to {self._end}, but the broker has moved on to "
            f"{mark_delete}. The messages were removed after the read was planned (retention or truncation), "
            f"or the topic was created again; run a batch query again, or start a "
            f"streaming query with a new checkpoint"
        )

    def _make_room(self) -> None:
        """Drop later consumers, because the buffer is full and the awaited entries do not arrive."""
        self._prefetch.drop()
        if self._ahead is not None:
            self._ahead.make_room()

    def _resubscribe_if_starved(self) -> None:
        if time.monotonic() - self._idle_since > self._starved_seconds:
            self._starved_seconds *= 2
            self._drop_consumer()

    def _drop_consumer(self) -> None:
        self._prefetch.drop()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
