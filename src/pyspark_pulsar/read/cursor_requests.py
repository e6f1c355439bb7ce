"""Requests to brokers about many topic partitions at a time, each through the idle consumer of its own.

`log_end` says what the answers mean. All requests of a trigger are sent before the first answer is awaited. What fails
for a passing reason is tried again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.consumer import LogEnd, request_log_ends
from pyspark_pulsar.client.broker.requests import in_windows
from pyspark_pulsar.client.broker.subscribe import Subscribing, begin_subscribe
from pyspark_pulsar.errors import ConnectionFailed, PulsarError, TopicNotFoundError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.partition_cursor import PartitionCursor

FIRST: Final = Position(0, 0)
"""Before every message; a cursor that is put there stands before the first entry that is left."""

Positions = Mapping[TopicPartition, Position]
"""The starts, or the ends, of a query in its topic partitions."""


@dataclass(slots=True)
class Answers:
    """The answers of brokers in one trigger: each partition gets into `log_ends` or into `deleted`."""

    starts: Positions
    log_ends: dict[TopicPartition, LogEnd] = field(default_factory=dict)
    deleted: dict[TopicPartition, TopicNotFoundError] = field(default_factory=dict)
    failures: list[ConnectionFailed] = field(default_factory=list)
    """Lost connections of the last attempt. Another attempt may succeed."""

    def is_done(self, partition: TopicPartition) -> bool:
        return partition in self.log_ends or partition in self.deleted


class CursorRequests:
    """The idle consumers of a query. Used by one thread."""

    def __init__(self, client: BrokerClient, *, read_compacted: bool, tells_firsts: bool) -> None:
        """Take the same arguments as `LogEnds`."""
        self._client = client
        self._read_compacted = read_compacted
        self._tells_firsts = tells_firsts
        self.cursors: defaultdict[TopicPartition, PartitionCursor] = defaultdict(PartitionCursor)

    def close_all(self, partitions: Iterable[TopicPartition]) -> None:
        """Close the consumers of these partitions."""
        for partition in partitions:
            self.cursors[partition].close()

    def request_all(self, partitions: Sequence[TopicPartition], starts: Positions) -> Answers:
        answers = Answers(starts)
        # Brokers (seen on 4.0.8) that have just loaded a topic can wait 30 s for its transaction buffer and
        # then close the topic, before they answer the next time; so one request's time is not enough.
        patience = max(self._client.patience_seconds, 2 * self._client.request_seconds)
        for window in in_windows(partitions):
            self._client.retrying(partial(self._request_rest, window, answers), patience)
        for partition, log_end in answers.log_ends.items():
            self.cursors[partition].log_end = log_end
            self.cursors[partition].answered = time.monotonic()
        return answers

    def _request_rest(self, partitions: Sequence[TopicPartition], answers: Answers) -> None:
        """One attempt for those that have no answer yet. Raises `ConnectionFailed` when some are left."""
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
        begun: dict[TopicPartition, Subscribing] = {}
        try:
            self._begin_all(partitions, connections, begun, answers)
            for partition, subscribing in begun.items():
                try:
                    self.cursors[partition].consumer = subscribing.consumer()
                except (ConnectionFailed, TopicNotFoundError) as fault:
                    self._note(partition, fault, answers)
        except BaseException:
            # Another failure, such as a right that is missing for one of them, ends the attempt for all.
            for partition, subscribing in begun.items():
                if self.cursors[partition].consumer is None:
                    subscribing.abandon()
            raise

    def _begin_all(
        self,
        partitions: Iterable[TopicPartition],
        connections: Mapping[str, Connection | PulsarError],
        begun: dict[TopicPartition, Subscribing],
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
                    self._first_stand(answers.starts.get(partition)),
                    read_compacted=self._read_compacted,
                )
            except (ConnectionFailed, TopicNotFoundError) as fault:
                self._note(partition, fault, answers)

    def _first_stand(self, start: Position | None) -> Position | None:
        """Nothing can be removed before earliest; None is the end."""
        if start is None or start.is_earliest or self._read_compacted:
            return FIRST if self._tells_firsts else None
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
    """Return the positions that new cursors get when they are put at these places (None: at the end), of those
    partitions that the broker has. Raises `ConnectionFailed`, `PermissionDenied`."""
    requests = CursorRequests(client, read_compacted=False, tells_firsts=False)
    starts = {partition: place for partition, place in places.items() if place is not None}
    try:
        log_ends = requests.request_all(list(places), starts).log_ends
    finally:
        requests.close_all(list(requests.cursors))
    return {partition: log_end.mark_delete for partition, log_end in log_ends.items()}
