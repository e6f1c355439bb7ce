"""The first and last positions of a topic partition, which the broker returns to roles with the right to consume."""

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
    """The present first and last positions of one topic partition."""

    earliest: Position
    """The position of the first message that was not removed."""
    latest: Position
    """The position after the last message that consumers can see; `EARLIEST` if there are no messages."""
    last_published_ms: int | None
    """The publish time of the last message in Unix milliseconds, by the producer's clock; None if unknown."""


def query_ends(client: BrokerClient, partition: TopicPartition) -> PartitionEnds:
    """Query the first and last positions of a topic partition.

    Raises:
        TopicNotFoundError: The topic does not exist.
        PermissionDenied: The role is not allowed to consume from the topic.
        ConnectionFailed: The broker cannot be reached.

    """
    # A broker that has just loaded a topic may answer only after 30 s, because the broker first waits for the
    # transaction buffer.
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
    """Query the positions with a consumer that begins at `earliest`.

    The broker moves the consumer's cursor past removed messages, so the cursor is at the first remaining message.
    """
    consumer = subscribe(client, partition.name, EARLIEST)
    try:
        return consumer.await_log_end(consumer.request_log_end(), time.monotonic() + client.request_seconds)
    finally:
        # Wait until the broker has closed the consumer. Otherwise, the list of the topic's subscriptions would still
        # contain the consumer's subscription.
        consumer.close(client.request_seconds)
