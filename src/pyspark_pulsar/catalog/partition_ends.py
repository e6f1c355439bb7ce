"""The first and last positions of a topic partition, from the broker, for roles that may consume."""

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
    """The present ends of one topic partition."""

    earliest: Position
    """The position of the first message that is still kept."""
    latest: Position
    """The position after the last message that consumers can see; `EARLIEST` if there are no messages."""
    last_published_ms: int | None
    """The publish time of the last message in Unix milliseconds, by its producer's clock; None if unknown."""


def query_ends(client: BrokerClient, partition: TopicPartition) -> PartitionEnds:
    """Query the ends of a topic partition.

    Raises:
        TopicNotFoundError: The topic does not exist.
        PermissionDenied: The role may not consume.
        ConnectionFailed: The broker cannot be reached.

    """
    # A broker that has just loaded a topic can wait 30 s for the transaction buffer before it answers.
    retry_seconds = max(client.patience_seconds, 2 * client.request_seconds)
    log_end = client.retrying(partial(_log_end, client, partition), retry_seconds)
    if log_end.end.is_earliest:
        return PartitionEnds(EARLIEST, EARLIEST, None)
    last = Position(log_end.end.ledger, log_end.end.entry - 1)
    last_entry = client.retrying(partial(first_entry, client, partition, last))
    return PartitionEnds(
        log_end.mark_delete, log_end.end, None if last_entry is None else last_entry.published_ms
    )


def _log_end(client: BrokerClient, partition: TopicPartition) -> LogEnd:
    """Query the ends with a consumer at the earliest position. Brokers move its cursor past removed messages."""
    consumer = subscribe(client, partition.name, EARLIEST)
    try:
        return consumer.await_log_end(consumer.request_log_end(), time.monotonic() + client.request_seconds)
    finally:
        # Wait for the end of the consumer; otherwise the topic's subscriptions would still show it.
        consumer.close(client.request_seconds)
