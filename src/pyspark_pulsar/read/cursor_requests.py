"""Requests to brokers about many topic partitions at a time, each through an idle consumer of that partition.

The docstring of module `log_end` explains the answers. All requests of a trigger are sent before the first answer is
awaited. A request that fails for a temporary reason is sent again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.consumer import EntryConsumer, LogEnd, request_log_ends
from pyspark_pulsar.client.broker.requests import in_windows
from pyspark_pulsar.client.broker.subscribe import PendingSubscription, begin_subscribe
from pyspark_pulsar.errors import ConnectionFailed, PulsarError, TopicNotFoundError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.runtime import time

FIRST: Final = Position(0, 0)
"""A position before every message. A new cursor at this position moves to the first existing entry."""

Positions = Mapping[TopicPartition, Position]
"""The positions of a query in its topic partitions: their starts or their ends."""


@dataclass(frozen=True, slots=True)
class _Proof:
    """Proof by a cursor at `start` that no entry between `start` and `upto` was removed unread."""

    start: Position
    upto: Position
    consumer: EntryConsumer


@dataclass(slots=True)
class PartitionCursor:
    """The idle consumer of one topic partition, and the proofs from its answers (described in `log_end`)."""

    consumer: EntryConsumer | None = None
    """The open or broken consumer; None before the subscription and after `close`."""
    log_end: LogEnd | None = None
    """The last answer about the log end; None before the first answer."""
    answered: float = -math.inf
    """The time of the last answer, by `time.monotonic`."""
    acknowledged: Position | None = None
    """The position up to which `consumer` has acknowledged; None while its cursor is at its initial position."""
    proof: _Proof | None = None
    """The last proof, which may be for another start or from an earlier consumer; None before the first proof."""

    @property
    def is_open(self) -> bool:
        return self.consumer is not None and self.consumer.is_open

    def is_fresh(self, since: float) -> bool:
        """Return whether the consumer is open and its last answer arrived at or after `since`."""
        return self.is_open and self.answered >= since

    @property
    def mark_delete(self) -> Position:
        """The mark-delete position of the last answer. The property raises `ValueError` before the first answer."""
        if self.log_end is None:
            raise ValueError(
                "expected an answer of a broker about the log end, got none; report this as a bug"
            )
        return self.log_end.mark_delete

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.close()
        self.consumer = self.acknowledged = None

    def acknowledge(self, start: Position) -> None:
        if self.consumer is None or self.acknowledged == start:
            return
        try:
            self.consumer.acknowledge_cumulative(start)
        except ConnectionFailed:
            return  # The next trigger finds the consumer closed.
        self.acknowledged = start

    def prove(self, start: Position) -> None:
        """Derive a proof from the last answer, for a query at `start`."""
        entry, mark_delete, proof = _whole_entry(start), self.mark_delete, self.proof
        if self.consumer is None:
            return
        if mark_delete <= entry:
            self.proof = _Proof(entry, entry, self.consumer)
        elif (
            proof is not None
            and proof.start == entry
            and proof.consumer is self.consumer
            and mark_delete.entry == 0
        ):
            self.proof = _Proof(entry, max(mark_delete, proof.upto), self.consumer)

    def proved(self, start: Position) -> Position | None:
        """Return the position up to which no entry after `start` was removed unread; None if nothing is proved."""
        proof = self.proof
        if proof is None or proof.start != _whole_entry(start) or proof.upto == proof.start:
            return None
        return proof.upto

    def is_in_doubt(self, start: Position) -> bool:
        """Return whether the last mark-delete position is after the proved part, for a query at `start`."""
        entry, proof = _whole_entry(start), self.proof
        upto = proof.upto if proof is not None and proof.start == entry else entry
        return self.mark_delete > upto


def _whole_entry(position: Position) -> Position:
    """Return the position of the entry, because cursors do not distinguish the messages of an entry."""
    return Position(position.ledger, position.entry)


@dataclass(slots=True)
class Answers:
    """The answers of brokers in one trigger. Each partition with an answer is in `log_ends` or in `deleted`."""

    starts: Positions
    log_ends: dict[TopicPartition, LogEnd] = field(default_factory=dict)
    deleted: dict[TopicPartition, TopicNotFoundError] = field(default_factory=dict)
    failures: list[ConnectionFailed] = field(default_factory=list)
    """The failures of connections in the last attempt. Another attempt may succeed."""

    def is_done(self, partition: TopicPartition) -> bool:
        return partition in self.log_ends or partition in self.deleted


class CursorRequests:
    """The idle consumers of a query. Used by one thread."""

    def __init__(self, client: BrokerClient, *, read_compacted: bool, starts_at_first: bool) -> None:
        """Store the arguments. `LogEnds` has the same arguments."""
        self._client = client
        self._read_compacted = read_compacted
        self._starts_at_first = starts_at_first
        self.cursors: defaultdict[TopicPartition, PartitionCursor] = defaultdict(PartitionCursor)

    def close_all(self, partitions: Iterable[TopicPartition]) -> None:
        """Close the consumers of these partitions."""
        for partition in partitions:
            self.cursors[partition].close()

    def request_all(self, partitions: Sequence[TopicPartition], starts: Positions) -> Answers:
        answers = Answers(starts)
        # Brokers (seen on 4.0.8) that have just loaded a topic can wait 30 s for its transaction buffer, and then close
        # the topic. Such a broker answers only the next request, so the time limit of one request is not enough.
        patience = max(self._client.patience_seconds, 2 * self._client.request_seconds)
        for window in in_windows(partitions):
            self._client.retrying(partial(self._request_rest, window, answers), patience)
        for partition, log_end in answers.log_ends.items():
            self.cursors[partition].log_end = log_end
            self.cursors[partition].answered = time.monotonic()
        return answers

    def _request_rest(self, partitions: Sequence[TopicPartition], answers: Answers) -> None:
        """Make one attempt for all partitions without an answer.

        Raise `ConnectionFailed` if some partitions still have no answer.
        """
        answers.failures.clear()
        rest = [partition for partition in partitions if not answers.is_done(partition)]
        for partition in rest:
            cursor = self.cursors[partition]
            if cursor.consumer is not None and not cursor.is_open:
                cursor.close()
                self._client.forget_owner(partition.name)
        self._subscribe(
            [partition for partition in rest if self.cursors[partition].consumer is None], answers
        )
        self._request_log_ends(rest, answers)
        if answers.failures:
            raise answers.failures[0]

    def _subscribe(self, partitions: list[TopicPartition], answers: Answers) -> None:
        connections = self._client.owner_connections(partition.name for partition in partitions)
        begun: dict[TopicPartition, PendingSubscription] = {}
        try:
            self._begin_all(partitions, connections, begun, answers)
            for partition, subscribing in begun.items():
                try:
                    self.cursors[partition].consumer = subscribing.consumer()
                except (ConnectionFailed, TopicNotFoundError) as fault:
                    self._note(partition, fault, answers)
        except BaseException:
            # Any other failure, such as a missing permission for one topic, ends the attempt for all partitions.
            for partition, subscribing in begun.items():
                if self.cursors[partition].consumer is None:
                    subscribing.abandon()
            raise

    def _begin_all(
        self,
        partitions: Iterable[TopicPartition],
        connections: Mapping[str, Connection | PulsarError],
        begun: dict[TopicPartition, PendingSubscription],
        answers: Answers,
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
                    self._first_position(answers.starts.get(partition)),
                    read_compacted=self._read_compacted,
                )
            except (ConnectionFailed, TopicNotFoundError) as fault:
                self._note(partition, fault, answers)

    def _first_position(self, start: Position | None) -> Position | None:
        """Return the position for a new cursor; None means the end. Before `earliest`, no entry can be removed."""
        if start is None or start.is_earliest or self._read_compacted:
            return FIRST if self._starts_at_first else None
        return start

    def _request_log_ends(self, partitions: list[TopicPartition], answers: Answers) -> None:
        consumers = {
            partition: consumer
            for partition in partitions
            if (consumer := self.cursors[partition].consumer) is not None
        }
        responses = request_log_ends(list(consumers.values()))
        deadline = time.monotonic() + self._client.request_seconds
        for (partition, consumer), response in zip(consumers.items(), responses, strict=True):
            try:
                answers.log_ends[partition] = consumer.await_log_end(response, deadline)
            except ConnectionFailed as fault:
                self._note(partition, fault, answers)

    def _note(
        self, partition: TopicPartition, fault: ConnectionFailed | TopicNotFoundError, answers: Answers
    ) -> None:
        self.cursors[partition].close()
        self._client.forget_owner(partition.name)
        if isinstance(fault, TopicNotFoundError):
            answers.deleted[partition] = fault
        else:
            answers.failures.append(fault)


def new_cursors(
    client: BrokerClient, places: Mapping[TopicPartition, Position | None]
) -> dict[TopicPartition, Position]:
    """Create a cursor at each of these positions, and return the positions to which brokers move the cursors.

    Args:
        client: The connections to brokers.
        places: The requested position of each new cursor. None means the end of the topic partition.

    Returns:
        The actual positions. Partitions that do not exist are left out.

    Raises:
        ConnectionFailed, PermissionDenied: A broker did not answer, or refused the request.

    """
    requests = CursorRequests(client, read_compacted=False, starts_at_first=False)
    starts = {partition: place for partition, place in places.items() if place is not None}
    try:
        log_ends = requests.request_all(list(places), starts).log_ends
    finally:
        requests.close_all(list(requests.cursors))
    return {partition: log_end.mark_delete for partition, log_end in log_ends.items()}
