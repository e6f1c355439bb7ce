"""Where each topic partition ends now, and what was removed before it was read.

Driver: once for a batch, at every trigger of a stream. Executors: where a topic must be loaded.

Brokers tell the last message id to consumers only. So there is one idle consumer for each topic partition: not durable,
without permits, of a subscription with a random name. All consumers of a broker share a connection. All requests of a
trigger are sent before the first answer is awaited.

    state of a partition   what happens                                     next state
    none, or closed        subscribe at the stand S                         open
    open                   GetLastMessageId: the end E, the mark-delete M   open
    open                   acknowledge cumulatively up to S                 open, S is acknowledged
    open                   the broker closes the consumer, or moves away    closed
    any                    the broker says that there is no such topic      closed, the topic is deleted
    any                    no longer among the partitions of the query      closed

"The stand" S is where the query stands: the next message that it reads, and so the start of its next range. The
consumer's cursor is put there, and follows the query by acknowledging. M, the cursor's mark-delete position, is given
here as the first position that is not acknowledged. E and M come in the same answer, so a trigger learns what was
removed without any further request, and without any right but to consume.

What brokers do with a cursor (tests/integration/test_removed_ledgers.py holds them to it):

1. It moves forward only: by acknowledging, by an expiry or a skip that somebody asks for, or by trimming.
2. Trimming removes whole ledgers from the front. A cursor in a removed ledger is moved to what is left: when it stood
   at the end of that ledger, to entry 0 of the next one; when entries were left in it, behind those entries.
3. A new cursor that is put at a position which is not there comes to stand behind it, at the first one that is.

From this follows what an answer M says of the range that begins at S:

    M                                       conclusion
    M <= S                                  all from S on is there (1, 2): proved up to S
    M = (a later ledger, entry 0), told by  the ledger of S ended at S and was trimmed (2); nothing unread was in it:
      a consumer that proved S itself       proved up to M
    M <= what is proved for S               nothing was removed
    M behind what is proved                 in doubt: trimmed unread, or only skipped by somebody (1)

In doubt, a new consumer is put at S. If its M is not behind what is proved, only the cursor had been moved, and nothing
was removed (3). If it is, what lies between was removed: `RemovedEntries`. How many entries is known when the former M
lies in the ledger of S (2). Else that ledger is gone and nobody knows where it ended (`is_unclear`); the ledgers that a
planner has seen may still tell.

A proof outlives its consumer, since what is proved stays true: entries behind S can be removed only by moving M behind
the proof. It is of use only for the same S. Positions inside a batched entry count as the whole entry, as cursors know
no messages inside one. A compacted view has no such proof: compaction removes entries which nobody misses.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from pyspark_pulsar.client.broker.client import BrokerClient, in_windows
from pyspark_pulsar.client.broker.connection import Connection
from pyspark_pulsar.client.broker.consumer import LogEnd, request_log_ends
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.errors import ConnectionFailed, PulsarError, TopicNotFoundError
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.partition_cursor import PartitionCursor
from pyspark_pulsar.topic import TopicPartition

FRESH_SECONDS = 2.0
"""For so long it counts as true that nothing was removed. A plan is made of ledgers that are listed after that, and a
trigger with limits counts messages before, for minutes; one of `Trigger.AvailableNow` does not ask where topics end."""

_HIDDEN_SECONDS = 2.0
_PAUSE_SECONDS = 0.1

_FIRST = Position(0, 0)
"""Before every message; a cursor that is put there stands before the first entry that is left."""

Positions = Mapping[TopicPartition, Position]
"""The starts, or the ends, of a query in its topic partitions."""


@dataclass(frozen=True, slots=True)
class RemovedEntries:
    """What is no longer there of a range, seen from its start."""

    first_left: Position | None
    """None where the topic is deleted."""
    entries: int | None
    """How many entries at least were removed behind the start; None where brokers do not know whether any was."""

    @property
    def is_unclear(self) -> bool:
        """The ledger of the start was removed, and with it the knowledge of where it ended."""
        return self.first_left is not None and self.entries is None


@dataclass(slots=True)
class _Round:
    """The requests of one trigger: each partition comes to `log_ends` or to `deleted`."""

    starts: Positions
    log_ends: dict[TopicPartition, LogEnd] = field(default_factory=dict)
    deleted: dict[TopicPartition, TopicNotFoundError] = field(default_factory=dict)
    failures: list[ConnectionFailed] = field(default_factory=list)
    """Of the last attempt; they pass."""

    def is_done(self, partition: TopicPartition) -> bool:
        return partition in self.log_ends or partition in self.deleted


class LogEnds:
    """Used by one thread. `close` takes the consumers away at once; else they go with the client."""

    def __init__(
        self, client: BrokerClient, *, read_compacted: bool = False, tells_firsts: bool = False
    ) -> None:
        """`read_compacted`: the ends of the compacted views. `tells_firsts`: without a start, cursors are put at the
        first entry and not at the end."""
        self._client = client
        self._read_compacted = read_compacted
        self._tells_firsts = tells_firsts and not read_compacted
        self._cursors: defaultdict[TopicPartition, PartitionCursor] = defaultdict(PartitionCursor)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position]:
        """Behind the last visible message of each; the consumers of other partitions are let go.

        Raises `TopicNotFoundError`, `PermissionDenied`, `ConnectionFailed`.
        """
        partitions = list(partitions)
        answers = self._trigger(partitions, {})
        for fault in answers.deleted.values():
            raise fault
        return self._ends_of(answers)

    def firsts(self) -> dict[TopicPartition, Position]:
        """Where the first ledger begins that was left when brokers told the ends, by the last answers; of those that
        tell it, with `tells_firsts`."""
        if not self._tells_firsts:
            return {}
        return {
            partition: cursor.mark_delete
            for partition, cursor in self._cursors.items()
            if cursor.log_end is not None and not cursor.mark_delete.is_earliest
        }

    def present_ends(self, partitions: Iterable[TopicPartition], starts: Positions) -> Positions:
        """`ends` of those partitions that are still there. `starts`: where the query stands in them."""
        return self._ends_of(self._trigger(list(partitions), starts))

    def removed(self, starts: Positions, *, anew: bool = False) -> dict[TopicPartition, RemovedEntries]:
        """What was removed behind the starts of ranges; of a compacted view only whole topics.

        Asks brokers where there is no consumer, where the last answer is older than `FRESH_SECONDS` or is not to be
        relied on (`anew`), and where it is in doubt: then by a new consumer at the start.
        """
        missing = {partition for partition in starts if not self._cursors[partition].is_open}
        fresh_since = math.inf if anew else time.monotonic() - FRESH_SECONDS
        asked = [partition for partition in starts if not self._cursors[partition].is_fresh(fresh_since)]
        deleted = self._request_all(asked, starts).deleted
        if not self._read_compacted:
            for partition in asked:
                if partition not in deleted:
                    self._cursors[partition].prove(starts[partition])
        # That a ledger before the start is there does not say that the one of the start is.
        elsewhere = starts.keys() - missing if self._tells_firsts else set()
        doubtful = {
            partition: self._cursors[partition].mark_delete
            for partition, start in starts.items()
            if partition not in deleted and (partition in elsewhere or self._is_in_doubt(partition, start))
        }
        self._close_all(doubtful)
        deleted |= self._request_all(list(doubtful), starts).deleted
        removed = {
            partition: RemovedEntries(
                self._cursors[partition].mark_delete, _removed_entries(starts[partition], former_mark_delete)
            )
            for partition, former_mark_delete in doubtful.items()
            if partition not in deleted and self._is_in_doubt(partition, starts[partition])
        }
        return removed | dict.fromkeys(deleted, RemovedEntries(None, None))

    def show_rights(self, partitions: Iterable[TopicPartition]) -> None:
        """That this role may consume them, which direct reads need to have been shown. Raises `PermissionDenied`."""
        self._request_all(
            [partition for partition in partitions if self._cursors[partition].consumer is None], {}
        )

    def reachable(self, ends: Positions) -> dict[TopicPartition, Position]:
        """How far positions can lie, given the present `ends`: behind the end of a compacted view come
        messages that compaction has removed."""
        if not self._read_compacted:
            return dict(ends)
        with closing(LogEnds(self._client)) as plain:
            return {partition: max(end, ends[partition]) for partition, end in plain.ends(ends).items()}

    def close(self) -> None:
        self._close_all(list(self._cursors))

    # Requests to brokers

    def _trigger(self, partitions: list[TopicPartition], starts: Positions) -> _Round:
        """Ask where each partition ends, conclude what is proved, and let the cursors follow the query."""
        self._close_all(self._cursors.keys() - set(partitions))
        answers = self._request_all(partitions, starts)
        if not self._read_compacted:
            standing = {
                partition: start for partition, start in starts.items() if partition in answers.log_ends
            }
            for partition, start in standing.items():
                self._cursors[partition].prove(start)
            for partition, start in standing.items():
                self._cursors[partition].acknowledge(start)
        return answers

    def _ends_of(self, answers: _Round) -> dict[TopicPartition, Position]:
        segments = [partition for partition in answers.log_ends if partition.is_segment]
        ends = {
            partition: log_end.end
            for partition, log_end in answers.log_ends.items()
            if not partition.is_segment
        }
        unseen = [
            partition
            for partition, end in ends.items()
            if end.is_earliest and partition not in answers.starts
        ]
        return ends | self._shown_ends(unseen) | self._written_ends(segments)

    def _shown_ends(self, unseen: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Of those that are asked for the first time and show no message. Where something is stored, brokers are asked
        for a while more: they (4.0.8) show nothing of a topic that they unload just now, nor while its transaction
        buffer takes its first snapshot, which is when the first transactional message comes."""
        ends: dict[TopicPartition, Position] = {}
        unseen = self._that_store_something(unseen)
        deadline = time.monotonic() + _HIDDEN_SECONDS
        while unseen and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
            log_ends = self._request_all(unseen, {}).log_ends
            ends |= {partition: log_end.end for partition, log_end in log_ends.items()}
            unseen = [partition for partition, log_end in log_ends.items() if log_end.end.is_earliest]
        return ends

    def _that_store_something(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Entries, whether consumers can see them or not. The cursor of each stands where it was put."""
        stands = {partition: self._cursors[partition].mark_delete for partition in partitions}
        others = self._cursors_at(dict.fromkeys(partitions, None if self._tells_firsts else _FIRST))
        ends, firsts = (others, stands) if self._tells_firsts else (stands, others)
        return [partition for partition in others if firsts[partition] < ends[partition]]

    def _written_ends(self, segments: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Behind the last entry of each, whether consumers can see it yet or not; those deleted meanwhile are left out.

        Of a segment brokers of Pulsar 5 (seen on 5.0.0-M1; 5.0.1 has the same code) tell for ever the end that they
        were first asked for, where transactions are enabled. But a new cursor is put where the log ends.
        """
        if not segments:
            return {}
        ends = self._cursors_at(dict.fromkeys(segments))
        # At the beginning of a ledger: there may be none before it.
        firsts = self._cursors_at({partition: _FIRST for partition, end in ends.items() if end.entry == 0})
        empty = [partition for partition, first in firsts.items() if first >= ends[partition]]
        return ends | dict.fromkeys(empty, EARLIEST)

    def _cursors_at(self, stands: Mapping[TopicPartition, Position | None]) -> dict[TopicPartition, Position]:
        """Where new cursors come to stand that are put at these positions (None: at the end)."""
        starts = {partition: stand for partition, stand in stands.items() if stand is not None}
        with closing(LogEnds(self._client)) as fresh:
            answers = fresh.answers(list(stands), starts)
        return {partition: log_end.mark_delete for partition, log_end in answers.items()}

    def answers(
        self, partitions: Sequence[TopicPartition], starts: Positions
    ) -> Mapping[TopicPartition, LogEnd]:
        """What brokers say of those that are there; where there is no consumer, by a new one at its start."""
        return self._request_all(partitions, starts).log_ends

    def _request_all(self, partitions: Sequence[TopicPartition], starts: Positions) -> _Round:
        answers = _Round(starts)
        # Brokers (seen on 4.0.8) that have just loaded a topic can wait 30 s for its transaction buffer and
        # then close the topic, before they answer the next time; so one request's time is not enough.
        patience = max(self._client.patience_seconds, 2 * self._client.request_seconds)
        for window in in_windows(partitions):
            self._client.retrying(partial(self._request_rest, window, answers), patience)
        for partition, log_end in answers.log_ends.items():
            self._cursors[partition].log_end = log_end
            self._cursors[partition].answered = time.monotonic()
        return answers

    def _request_rest(self, partitions: Sequence[TopicPartition], answers: _Round) -> None:
        """One attempt for those that have no answer yet. Raises `ConnectionFailed` when some are left."""
        answers.failures.clear()
        rest = [partition for partition in partitions if not answers.is_done(partition)]
        for partition in rest:
            cursor = self._cursors[partition]
            if cursor.consumer is not None and not cursor.is_open:
                cursor.close()
                self._client.forget_owner(partition.name)
        self._subscribe(
            [partition for partition in rest if self._cursors[partition].consumer is None], answers
        )
        self._request_log_ends(rest, answers)
        if answers.failures:
            raise answers.failures[0]

    def _subscribe(self, partitions: list[TopicPartition], answers: _Round) -> None:
        connections = self._client.owner_connections(partition.name for partition in partitions)
        begun: dict[TopicPartition, Subscribing] = {}
        try:
            self._begin_all(partitions, connections, begun, answers)
            for partition, subscribing in begun.items():
                try:
                    self._cursors[partition].consumer = subscribing.consumer()
                except (ConnectionFailed, TopicNotFoundError) as fault:
                    self._note(partition, fault, answers)
        except BaseException:
            # Another failure, such as a right that is missing for one of them, ends the attempt for all.
            for partition, subscribing in begun.items():
                if self._cursors[partition].consumer is None:
                    subscribing.abandon()
            raise

    def _begin_all(
        self,
        partitions: Iterable[TopicPartition],
        connections: Mapping[str, Connection | PulsarError],
        begun: dict[TopicPartition, Subscribing],
        answers: _Round,
    ) -> None:
        for partition in partitions:
            connection = connections[partition.name]
            try:
                if isinstance(connection, PulsarError):
                    raise connection
                begun[partition] = begin_subscribe(
                    self._client,
                    connection,
                    partition.name,
                    self._first_stand(answers.starts.get(partition)),
                    read_compacted=self._read_compacted,
                )
            except (ConnectionFailed, TopicNotFoundError) as fault:
                self._note(partition, fault, answers)

    def _first_stand(self, start: Position | None) -> Position | None:
        """Nothing can be removed before earliest; None is the end."""
        if start is None or start.is_earliest or self._read_compacted:
            return _FIRST if self._tells_firsts else None
        return start

    def _request_log_ends(self, partitions: list[TopicPartition], answers: _Round) -> None:
        consumers = {
            partition: consumer
            for partition in partitions
            if (consumer := self._cursors[partition].consumer) is not None
        }
        responses = request_log_ends(list(consumers.values()))
        deadline = time.monotonic() + self._client.request_seconds
        for (partition, consumer), response in zip(consumers.items(), responses, strict=True):
            try:
                answers.log_ends[partition] = consumer.await_log_end(response, deadline)
            except ConnectionFailed as fault:
                self._note(partition, fault, answers)

    def _note(
        self, partition: TopicPartition, fault: ConnectionFailed | TopicNotFoundError, answers: _Round
    ) -> None:
        self._cursors[partition].close()
        self._client.forget_owner(partition.name)
        if isinstance(fault, TopicNotFoundError):
            answers.deleted[partition] = fault
        else:
            answers.failures.append(fault)

    def _is_in_doubt(self, partition: TopicPartition, start: Position) -> bool:
        if start.is_earliest or self._read_compacted:
            return False
        return self._cursors[partition].is_in_doubt(start)

    def _close_all(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._cursors[partition].close()


def _removed_entries(start: Position, mark_delete: Position) -> int | None:
    is_known = mark_delete.ledger == start.ledger and mark_delete >= start
    return mark_delete.entry - start.entry if is_known else None
