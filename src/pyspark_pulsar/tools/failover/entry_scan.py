"""A scan that reads a topic partition's entries from the broker until an entry meets a condition.

The scan runs on the driver only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.client.broker.consumer import EntryConsumer
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.model.position import Position, after_entry
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.tools.failover.topic_log import Condition, Origin

_MOST_PERMITS: Final = 1000
_MORE: Final = 8
_TAKE_SECONDS: Final = 30.0


class EntryScan:
    """A scanner of one topic partition, for use by one thread.

    Its methods raise `ConnectionFailed`, `DeadlineExceeded`, `TopicNotFoundError` and `PermissionDenied`.
    """

    def __init__(self, client: BrokerClient, partition: TopicPartition) -> None:
        """Store the client, which the caller closes."""
        self._client = client
        self._partition = partition

    def end(self) -> Position:
        """Return the position after the last message."""
        return self._client.retrying(self._request_end)

    def first(self, start: Position, end: Position, condition: Condition) -> Origin | None:
        """Return the first entry from `start` to `end` (exclusive) that meets a condition.

        This method is a `topic_log.FirstEntry`.
        """
        return self._client.retrying(partial(self._first, start, end, condition))

    def _request_end(self) -> Position:
        consumer = subscribe(self._client, self._partition.name, None)
        try:
            return consumer.end()
        finally:
            consumer.close()

    def _first(self, start: Position, end: Position, condition: Condition) -> Origin | None:
        consumer = subscribe(self._client, self._partition.name, start)
        try:
            for origin in self._origins(consumer, end):
                if condition(origin):
                    return origin
            return None
        finally:
            consumer.close()

    def _origins(self, consumer: EntryConsumer, end: Position) -> Iterator[Origin]:
        """Yield the origins of the entries before `end`.

        Most searches end at the first entry, so the first request is for one message.
        """
        permits, expected = 1, 0
        while True:
            while expected <= 0:
                consumer.add_permits(permits)
                expected, permits = expected + permits, min(permits * _MORE, _MOST_PERMITS)
            entries = consumer.take(_TAKE_SECONDS)
            if entries is None:
                raise DeadlineExceeded(
                    f"{self._partition}: expected messages up to {end}, got none within {_TAKE_SECONDS:.0f} s; check "
                    f"that the broker can be reached"
                )
            expected -= entries.num_messages
            for origin in origins(entries):
                if origin.position >= end:
                    return
                yield origin
            if entries.last is not None and after_entry(*entries.last) >= end:
                return


def origins(entries: EntryBatch) -> Iterator[Origin]:
    """Yield the origin of each entry, in order."""
    for at, published, cluster, source in entries.origins():
        yield Origin(Position(*at), published, cluster, source)
