"""Where a topic partition begins and ends now, by what brokers tell those who may consume it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import LogEnd
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.sources.peek import first_entry


@dataclass(frozen=True, slots=True)
class PartitionEnds:
    """Of one topic partition."""

    earliest: Position
    """The first message that is still kept."""
    latest: Position
    """Behind the last message that consumers can see; `EARLIEST` where there is none."""
    last_published_ms: int | None
    """Of that last message, by its producer's clock; None where there is none, or it does not tell."""


def ends_of(client: BrokerClient, partition: TopicPartition) -> PartitionEnds:
    """Raises `TopicNotFoundError`, `PermissionDenied`, `ConnectionFailed`."""
    # Brokers that have just loaded a topic can wait 30 s for its transaction buffer before they answer.
    patience = max(client.patience_seconds, 2 * client.request_seconds)
    log_end = client.retrying(partial(_log_end, client, partition), patience)
    if log_end.end.is_earliest:
        return PartitionEnds(EARLIEST, EARLIEST, None)
    last = Position(log_end.end.ledger, log_end.end.entry - 1)
    last_entry = client.retrying(partial(first_entry, client, partition, last))
    return PartitionEnds(
        log_end.mark_delete, log_end.end, None if last_entry is None else last_entry.published_ms
    )


def _log_end(client: BrokerClient, partition: TopicPartition) -> LogEnd:
    """Of a consumer at the very beginning, whose cursor brokers move past what they have removed."""
    consumer = subscribe(client, partition.name, EARLIEST)
    try:
        return consumer.await_log_end(consumer.request_log_end(), time.monotonic() + client.request_seconds)
    finally:
        # Waited for, or the next look at the topic's subscriptions would show it.
        consumer.close(client.request_seconds)
