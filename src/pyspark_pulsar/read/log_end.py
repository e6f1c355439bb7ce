"""Where each topic partition ends now: once for a batch, again at every trigger of a stream. On the driver, and
on executors where a topic must be loaded.

Keeps one idle, non-durable consumer for each partition, since brokers answer "last message id" to consumers
only; they share a connection per broker, are given no permits, and go away with it. All questions of a trigger are
sent before the first answer is awaited.

A stream's consumer stands where the query stands. Brokers move cursors past what they remove, so the same answer says
whether something was removed that the query has not read, without any right but to consume.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from pyspark_pulsar.client.broker.client import BrokerClient, in_windows
from pyspark_pulsar.client.broker.consumer import EntryConsumer, LogEnd, request_log_ends
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.errors import ConnectionFailed, PulsarError, TopicNotFoundError
from pyspark_pulsar.position import Position
from pyspark_pulsar.topic import TopicPartition

Positions = Mapping[TopicPartition, Position]


@dataclass(slots=True)
class _Round:
    """One round of questions."""

    starts: Positions
    log_ends: dict[TopicPartition, LogEnd]
    gone: dict[TopicPartition, TopicNotFoundError]
    passing: list[ConnectionFailed]


@dataclass(frozen=True, slots=True)
class RemovedEntries:
    """What is no longer there of a range, seen from its start."""

    first_left: Position | None
    """None where the topic is gone."""
    entries: int | None
    """How many entries at least were removed behind the start; None where brokers do not know whether any was."""

    @property
    def is_unclear(self) -> bool:
        """The ledger of the start is gone, and with it the knowledge of where it ended."""
        return self.first_left is not None and self.entries is None


@dataclass(frozen=True, slots=True)
class _Proof:
    """That nothing was removed unread between two positions: seen by a cursor that stood at the first."""

    stand: Position
    upto: Position
    consumer: EntryConsumer


class LogEnds:
    """Used by one thread. `close` takes the consumers away at once; else they go with the client."""

    def __init__(self, client: BrokerClient, *, read_compacted: bool = False) -> None:
        """`read_compacted`: the ends of the compacted views."""
        self._client = client
        self._read_compacted = read_compacted
        self._consumers: dict[TopicPartition, EntryConsumer] = {}
        self._log_ends: dict[TopicPartition, LogEnd] = {}
        self._passed: dict[TopicPartition, Position] = {}
        self._proofs: dict[TopicPartition, _Proof] = {}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position]:
        """Behind the last visible message of each; partitions no longer asked for are let go.

        Raises `TopicNotFoundError`, `PermissionDenied`, `ConnectionFailed`.
        """
        wanted = list(partitions)
        look = self._look(wanted, {})
        for fault in look.gone.values():
            raise fault
        return {partition: look.log_ends[partition].end for partition in wanted}

    def present_ends(self, partitions: Iterable[TopicPartition], starts: Positions) -> Positions:
        """`ends` of those partitions that are still there. `starts`: where the query stands in them."""
        look = self._look(list(partitions), starts)
        return {partition: tail.end for partition, tail in look.log_ends.items()}

    def removed(self, starts: Positions) -> dict[TopicPartition, RemovedEntries]:
        """What was removed behind the starts of ranges, as of the last look; of `readCompacted` only whole topics.

        A cursor that has been moved on may have been moved by somebody who removed nothing (an expiry, a cleared
        backlog). So a new consumer is put at such a start: the broker puts it behind what is not there.
        """
        gone = self._ask_all([each for each in starts if not self._has_open(each)], starts).gone
        doubtful = {
            each: self._log_ends[each]
            for each, start in starts.items()
            if each not in gone and self._is_passed(each, start)
        }
        self._drop_all(doubtful)
        gone |= self._ask_all(list(doubtful), starts).gone
        removed = {
            each: RemovedEntries(
                self._log_ends[each].mark_delete, _removed_entries(starts[each], former.mark_delete)
            )
            for each, former in doubtful.items()
            if each not in gone and self._is_passed(each, starts[each])
        }
        return removed | dict.fromkeys(gone, RemovedEntries(None, None))

    def show_rights(self, partitions: Iterable[TopicPartition]) -> None:
        """That this role may consume them, which direct reads need to have been shown. Raises `PermissionDenied`."""
        self._ask_all([partition for partition in partitions if partition not in self._consumers], {})

    def reachable(self, ends: Positions) -> dict[TopicPartition, Position]:
        """How far positions can lie, given the present `ends`: behind the end of a compacted view come
        messages that compaction has removed."""
        if not self._read_compacted:
            return dict(ends)
        with closing(LogEnds(self._client)) as plain:
            return {partition: max(end, ends[partition]) for partition, end in plain.ends(ends).items()}

    def close(self) -> None:
        self._drop_all(list(self._consumers))

    # Questions to brokers

    def _look(self, wanted: list[TopicPartition], starts: Positions) -> _Round:
        self._drop_all(self._consumers.keys() - set(wanted))
        look = self._ask_all(wanted, starts)
        if not self._read_compacted:
            standing = {each: start for each, start in starts.items() if each in look.log_ends}
            for partition, start in standing.items():
                self._prove(partition, start)
            self._acknowledge(standing)
        return look

    def _ask_all(self, wanted: list[TopicPartition], starts: Positions) -> _Round:
        look = _Round(starts, {}, {}, [])
        # Brokers (seen on 4.0.8) that have just loaded a topic can wait 30 s for its transaction buffer and
        # then close the topic, before they answer the next time; so one request's time is not enough.
        patience = max(self._client.patience_seconds, 2 * self._client.request_seconds)
        for window in in_windows(wanted):
            self._client.retrying(partial(self._ask_rest, window, look), patience)
        self._log_ends.update(look.log_ends)
        return look

    def _ask_rest(self, wanted: list[TopicPartition], look: _Round) -> None:
        """Raises `ConnectionFailed` when some are left to be asked again."""
        look.passing.clear()
        rest = [each for each in wanted if each not in look.log_ends and each not in look.gone]
        closed = [each for each in rest if each in self._consumers and not self._has_open(each)]
        self._drop_all(closed)
        for partition in closed:
            self._client.forget_owner(partition.name)
        self._subscribe([each for each in rest if each not in self._consumers], look)
        self._ask([each for each in rest if each in self._consumers], look)
        if look.passing:
            raise look.passing[0]

    def _subscribe(self, partitions: list[TopicPartition], look: _Round) -> None:
        connections = self._client.owner_connections(each.name for each in partitions)
        begun: dict[TopicPartition, Subscribing] = {}
        for partition in partitions:
            connection = connections[partition.name]
            try:
                if isinstance(connection, PulsarError):
                    raise connection
                begun[partition] = begin_subscribe(
                    self._client,
                    connection,
                    partition.name,
                    self._stand(look.starts.get(partition)),
                    read_compacted=self._read_compacted,
                )
            except (ConnectionFailed, TopicNotFoundError) as fault:
                self._note(partition, fault, look)
        for partition, subscribing in begun.items():
            try:
                self._consumers[partition] = subscribing.consumer()
            except (ConnectionFailed, TopicNotFoundError) as fault:
                self._note(partition, fault, look)

    def _stand(self, start: Position | None) -> Position | None:
        """Nothing can be removed before earliest; None is the end."""
        return None if start is None or start.is_earliest or self._read_compacted else start

    def _ask(self, partitions: list[TopicPartition], look: _Round) -> None:
        answers = request_log_ends([self._consumers[each] for each in partitions])
        deadline = time.monotonic() + self._client.request_seconds
        for partition, answer in zip(partitions, answers, strict=True):
            try:
                look.log_ends[partition] = self._consumers[partition].await_log_end(answer, deadline)
            except ConnectionFailed as fault:
                self._note(partition, fault, look)

    def _note(
        self, partition: TopicPartition, fault: ConnectionFailed | TopicNotFoundError, look: _Round
    ) -> None:
        self._drop_all([partition])
        self._client.forget_owner(partition.name)
        if isinstance(fault, TopicNotFoundError):
            look.gone[partition] = fault
        else:
            look.passing.append(fault)

    def _acknowledge(self, starts: Positions) -> None:
        for partition, start in starts.items():
            consumer = self._consumers.get(partition)
            if consumer is not None and self._passed.get(partition) != start:
                try:
                    consumer.acknowledge_cumulative(start)
                except ConnectionFailed:
                    continue  # The next look finds the consumer gone.
                self._passed[partition] = start

    # What was removed

    def _prove(self, partition: TopicPartition, start: Position) -> None:
        """A cursor that has not passed `start` proves that all behind it is there. When the ledger before it ends there
        and is removed, the broker puts the cursor at the beginning of the next one; where entries were left in it, it
        puts it behind them instead."""
        stand, mark_delete = _whole_entries(start), self._log_ends[partition].mark_delete
        consumer, proof = self._consumers[partition], self._proofs.get(partition)
        if mark_delete <= stand:
            self._proofs[partition] = _Proof(stand, stand, consumer)
        elif (
            proof is not None
            and proof.stand == stand
            and proof.consumer is consumer
            and mark_delete.entry == 0
        ):
            self._proofs[partition] = _Proof(stand, max(mark_delete, proof.upto), consumer)

    def _is_passed(self, partition: TopicPartition, start: Position) -> bool:
        if start.is_earliest or self._read_compacted:
            return False
        stand, proof = _whole_entries(start), self._proofs.get(partition)
        upto = proof.upto if proof is not None and proof.stand == stand else stand
        return self._log_ends[partition].mark_delete > upto

    def _has_open(self, partition: TopicPartition) -> bool:
        consumer = self._consumers.get(partition)
        return consumer is not None and consumer.is_open

    def _drop_all(self, partitions: Iterable[TopicPartition]) -> None:
        dropped = [self._consumers.pop(each) for each in partitions if each in self._consumers]
        for partition in self._passed.keys() - self._consumers.keys():
            del self._passed[partition]
        for consumer in dropped:
            consumer.close()


def _removed_entries(start: Position, mark_delete: Position) -> int | None:
    return mark_delete.entry - start.entry if mark_delete.ledger == start.ledger else None


def _whole_entries(position: Position) -> Position:
    """Cursors know no messages inside an entry."""
    return Position(position.ledger, position.entry)
