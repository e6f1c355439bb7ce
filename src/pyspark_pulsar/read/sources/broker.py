"""Entries of a range through the broker that owns the topic partition. Executor only, but for what a driver counts.

The broker pushes, as far as it has permits (FLOW), and tells a consumer nothing of what it leaves out. `BrokerEntries`
keeps the position of the next entry (`_next`) and goes through these states until that is the end of the range:

    state        holds                     what happens                           goes on in
    NONE         no consumer               it takes the one that the task has     RECEIVING
                                           made (`ahead`), or subscribes, at
                                           `_next`
    RECEIVING    a consumer with permits   entries come; `_next` is behind them   RECEIVING
                                           ids are missing, and are there         NONE, at the first of them (`skipped`)
                                           `_next` is at the border of a part     RECEIVING, the next one (`prefetch`)
                                           nothing comes for a second             ASKING
    ASKING       the same                  the topic ends behind `_next`          RECEIVING; NONE after some seconds of
                                                                                  nothing, each time twice as many
                                           it shows no message at all, but the    the same
                                           cursor stands inside the topic
                                           else, and the view is compacted        over: compaction has removed the rest
                                           else                                   `DataLossError`
    any          -                         the connection fails                   NONE; the owner is looked up again
    any          -                         no entry for `poll_seconds`            `DeadlineExceeded`

Nothing is lost between two consumers, since each begins at `_next`. Entries may come twice then, or lie outside the
range; whoever reads drops them by position (`task.audit.Run.take`).
"""

from __future__ import annotations

import contextlib
import time
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
from pyspark_pulsar.read.sources.ahead import ConsumersAhead
from pyspark_pulsar.read.sources.peek import first_entry
from pyspark_pulsar.read.sources.prefetch import EntrySize, PrefetchingConsumers
from pyspark_pulsar.read.sources.skipped import cut_where_skipped

_LOOK_AGAIN_SECONDS = 1.0
# Brokers move consumers to the topic's end when someone clears backlogs or truncates, and do not tell them. Doubled
# each time, so that a broker that is slow is not asked to begin anew for ever.
_STARVED_SECONDS = 4.0
_HIDDEN = " (the broker shows no message of the topic at all; if that lasts, unload the topic)"


@dataclass(frozen=True, slots=True)
class FromBroker(EntryLocation):
    """The broker that owns the topic partition. It knows where everything lies now, and sends only what consumers may
    see: neither markers nor what aborted transactions wrote."""

    name: ClassVar[str] = "broker"
    title: ClassVar[str] = "the broker"
    is_broker: ClassVar[bool] = True

    entries: int | None = None
    """How many entries lie in the range, also those that consumers do not see; None where that is not known."""

    def open(
        self, access: PartitionAccess, start: Position, end: Position
    ) -> Generator[EntryBatch, None, None]:
        """The first entry may begin before the range, and the last end behind it. Raises the errors of `BrokerEntries`;
        with `failOnDataLoss=false` it ends where something is gone."""
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
        """What consumers do not see lacks too; but retention removes from the front, so that nothing is lost of a range
        while the ledger is there in which it begins: it had entries of it when it was planned."""
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
        """The broker reads over the ends of ledgers."""
        del adjacent
        if not isinstance(following, FromBroker):
            return None
        if self.entries is None or following.entries is None:
            return FromBroker()
        return FromBroker(self.entries + following.entries)


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
        ahead: ConsumersAhead | None = None,
    ) -> None:
        """`permits`: messages that may wait for a consumer. `consumers`: how many may read parts of the range at a
        time, where that is faster; of a compacted view never more than one. `ahead`: who may have one already."""
        self._client = client
        self._partition = partition
        self._end = end
        self._permits = permits
        self._poll_seconds = poll_seconds
        self._read_compacted = read_compacted
        self._ahead = ahead
        self._next = start
        self._consumer: EntryConsumer | None = None
        self._begun = start
        """Where the consumer began."""
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
        self._prefetch = PrefetchingConsumers(
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
            if entries is not None and self._skipped(consumer, entries, deadline):
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
            self._prefetch.refill(consumer.connection, self._next, self._mean_entry())
            # What was received counts all the same; the next call finds the consumer gone and comes again.
            with contextlib.suppress(ConnectionFailed):
                self._grant(consumer)
        return entries

    def _skipped(self, consumer: EntryConsumer, entries: EntryBatch, deadline: float) -> bool:
        """Whether the broker has skipped something; then `entries` are those before it."""

        def mark_delete() -> Position:
            return consumer.log_end(deadline - time.monotonic(), self._make_room).mark_delete

        def first_behind(start: Position) -> Position | None:
            with self._client.another() as client, client.until(deadline):
                entry = first_entry(
                    client, self._partition, start, read_compacted=self._read_compacted, deadline=deadline
                )
            return None if entry is None else entry.position

        if entries.first is None:
            return False
        attempt = self._next, entries.first
        # A consumer that began there got the same: connections that break at each question must not stop us.
        following = Position(*entries.first) if attempt == self._unproven else self._next
        self._unproven = attempt
        is_cut = cut_where_skipped(entries, following, mark_delete, first_behind)
        self._unproven = None
        return is_cut

    def _mean_entry(self) -> EntrySize:
        return EntrySize(self._messages / self._entries, self._nbytes / self._entries)

    def _subscribed(self, deadline: float) -> EntryConsumer:
        if self._consumer is not None and self._prefetch.border <= self._next:
            self._consumer.close()
            with self._client.until(deadline):
                self._consumer, self._granted = self._prefetch.take_over(self._next) or (None, 0)
            self._begun = EARLIEST
            if self._consumer is not None:
                self._idle_since = time.monotonic()
                self._grant(self._consumer)
        if self._consumer is None:
            with self._client.until(deadline):
                self._consumer, self._granted = self._taken_ahead() or (self._made(deadline), 0)
            self._begun = self._next
            self._idle_since = time.monotonic()
            self._grant(self._consumer)
        return self._consumer

    def _taken_ahead(self) -> tuple[EntryConsumer, int] | None:
        return None if self._ahead is None else self._ahead.take(self._partition, self._next)

    def _made(self, deadline: float) -> EntryConsumer:
        return self._client.retrying(self._subscribe, max(0.1, deadline - time.monotonic()))

    def _subscribe(self) -> EntryConsumer:
        return subscribe(self._client, self._partition.name, self._next, read_compacted=self._read_compacted)

    def _grant(self, consumer: EntryConsumer) -> None:
        """Let the broker send as much as it may, but hardly more than the range still holds."""
        permits = max(1, min(self._permits, self._expected()))
        if self._granted <= permits // 2 and self._next < self._prefetch.border:
            consumer.add_permits(permits - self._granted)
            self._granted = permits

    def _expected(self) -> int:
        """Messages that may still come, by those that came; no bound where the part ends in another ledger."""
        border = self._prefetch.border
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
            return self._can_come_of_segment(tail.mark_delete)
        # A cursor that begins at earliest stands at the first ledger that is there.
        stand = self._end if self._next.is_earliest else self._next
        self._is_hidden = tail.end.is_earliest and EARLIEST < tail.mark_delete <= stand
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

    def _can_come_of_segment(self, mark_delete: Position) -> bool:
        """The range was planned up to the last entry, which may be of a transaction that is open or aborted.

        A broker moves a cursor past aborted entries that nothing is before. So a consumer that began behind what came
        tells by its cursor that all the rest was aborted.
        """
        if self._begun < self._next:
            self._drop_consumer()
            return True
        if mark_delete < self._end:
            self._begin_anew_if_starved()
            return True
        if mark_delete.ledger == self._end.ledger:
            return False
        raise DataLossError(
            f"{self._partition}: expected messages from {self._next} up to {self._end}, but the broker has moved on to "
            f"{mark_delete}: they were removed (retention, truncation, or the topic was made again) after the read was "
            f"planned"
        )

    def _make_room(self) -> None:
        """The buffer is full, and what is waited for does not come."""
        self._prefetch.drop()
        if self._ahead is not None:
            self._ahead.make_room()

    def _begin_anew_if_starved(self) -> None:
        if time.monotonic() - self._idle_since > self._starved_seconds:
            self._starved_seconds *= 2
            self._drop_consumer()

    def _drop_consumer(self) -> None:
        self._prefetch.drop()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
