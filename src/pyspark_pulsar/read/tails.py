"""Where each topic partition ends now: once for a batch, again at every trigger of a stream. Driver only.

Keeps one idle, non-durable consumer for each partition, since brokers answer "last message id" to consumers
only; they share a connection per broker, are given no permits, and go away with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.consumer import EntryConsumer, subscribe
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.topic import TopicPartition


class Tails:
    """Used by one thread. `close` takes the consumers away at once; else they go with the client."""

    def __init__(self, client: BrokerClient, *, read_compacted: bool = False) -> None:
        """`read_compacted`: the ends of the compacted views."""
        self._client = client
        self._read_compacted = read_compacted
        self._consumers: dict[TopicPartition, EntryConsumer] = {}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position]:
        """Behind the last visible message of each; partitions no longer asked for are let go."""
        wanted = list(partitions)
        for partition in self._consumers.keys() - set(wanted):
            self._consumers.pop(partition).close()
        # Brokers (seen on 4.0.8) that have just loaded a topic can wait 30 s for its transaction buffer and
        # then close the topic, before they answer the next time; so one request's time is not enough.
        patience = max(self._client.patience_seconds, 2 * self._client.request_seconds)
        return {
            partition: self._client.retrying(partial(self._end, partition), patience) for partition in wanted
        }

    def show_rights(self, partitions: Iterable[TopicPartition]) -> None:
        """That this role may consume them, which direct reads need to have been shown. Raises `PermissionDenied`."""
        missing = [partition for partition in partitions if partition not in self._consumers]
        if missing:
            self.ends([*self._consumers, *missing])

    def reachable(self, ends: Mapping[TopicPartition, Position]) -> dict[TopicPartition, Position]:
        """How far positions can lie, given the present `ends`: behind the end of a compacted view come
        messages that compaction has removed."""
        if not self._read_compacted:
            return dict(ends)
        with closing(Tails(self._client)) as plain:
            return {partition: max(end, ends[partition]) for partition, end in plain.ends(ends).items()}

    def close(self) -> None:
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def _end(self, partition: TopicPartition) -> Position:
        try:
            consumer = self._consumers.get(partition)
            if consumer is None:
                consumer = self._consumers[partition] = subscribe(
                    self._client, partition.name, None, read_compacted=self._read_compacted
                )
            return consumer.end()
        except ConnectionFailed:
            stale = self._consumers.pop(partition, None)
            if stale is not None:
                stale.close()
            self._client.forget_owner(partition.name)
            raise
