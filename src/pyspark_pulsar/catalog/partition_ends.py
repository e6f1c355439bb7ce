"""Where a topic partition begins and ends now, by what brokers tell those who may consume it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import LogEnd
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.sources.peek import first_entry
from pyspark_pulsar.topic import TopicPartition


@dataclass(frozen=True, slots=True)
class Ends:
    """Of one topic partition."""

    earliest: Position
    """The first message that is still kept."""
    latest: Position
    """Behind the last message that consumers can see; `EARLIEST` where there is none."""
    last_published_ms: int | None
    """Of that last message, by its producer's clock; None where there is none, or it does not tell."""


def ends_of(client: BrokerClient, partition: TopicPartition) -> Ends:
    """Raises `TopicNotFoundError`, `PermissionDenied`, `ConnectionFailed`."""
    # Brokers that have just loaded a topic can wait 30 s for its transaction buffer before they answer.
    patience = max(client.patience_seconds, 2 * client.request_seconds)
    tail = client.retrying(partial(_tail, client, partition), patience)
    if tail.end.is_earliest:
        return Ends(EARLIEST, EARLIEST, None)
    last = Position(tail.end.ledger, tail.end.entry - 1)
    found = client.retrying(partial(first_entry, client, partition, last))
    return Ends(tail.mark_delete, tail.end, None if found is None else found.published_ms)


def _tail(client: BrokerClient, partition: TopicPartition) -> LogEnd:
    """Of a consumer at the very beginning, whose cursor brokers move past what they have removed."""
    consumer = subscribe(client, partition.name, EARLIEST)
    try:
        return consumer.await_log_end(consumer.request_log_end(), time.monotonic() + client.request_seconds)
    finally:
        # Waited for, or the next look at the topic's subscriptions would show it.
        consumer.close(client.request_seconds)
