"""The work of a task that writes: encode rows, send rows, and wait for every receipt. Runs on executors only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.spark.task_context import present_partition
from pyspark_pulsar.write.key_column import keyed
from pyspark_pulsar.write.row_topics import RowTopics
from pyspark_pulsar.write.sender import DeliveryTerms, TopicSender
from pyspark_pulsar.write.sequence_ids import refuse_rows
from pyspark_pulsar.write.target import RowTargets, Target


def write_rows(
    options: WriteOptions,
    target: Target | RowTargets,
    batches: Iterator[pa.RecordBatch],
    *,
    awaits_receipts: bool = True,
) -> int:
    """Send all rows, and return the number of rows.

    If receipts are awaited, the broker has confirmed every row before the call returns. If the call raises an error, or
    the process dies, some rows may be stored. Spark runs a failed task again, so readers may see rows twice
    (`at-least-once`).

    Raises:
        SendError: A broker did not store a row.
        SchemaError: A row does not fit the schema.

    """
    with pooled_client(options) as client:
        return send_rows(
            options, target, batches, client, DeliveryTerms(awaits_receipts=awaits_receipts)
        ).rows


def send_rows(
    options: WriteOptions,
    target: Target | RowTargets,
    batches: Iterator[pa.RecordBatch],
    client: BrokerClient,
    terms: DeliveryTerms,
) -> RowDigest:
    """Send the rows, and return their digest. If `terms.digests` is false, the digest contains only the row count."""
    if options.producer_name is not None and (partition := present_partition()):
        refuse_rows(batches, partition)
        return RowDigest()
    batches = keyed(batches, options.key_column)
    if isinstance(target, RowTargets):
        topics = RowTopics(client, options, target, terms)
        rows = _send_to_topics_of_rows(topics, batches)
        return topics.row_digest if terms.digests else RowDigest(rows, None)
    sender = TopicSender(client, options, target, terms)
    rows = _send_to_one_topic(options, sender, batches)
    return sender.row_digest if terms.digests else RowDigest(rows, None)


def _send_to_one_topic(options: WriteOptions, sender: TopicSender, batches: Iterator[pa.RecordBatch]) -> int:
    share = max(1, options.max_pending_bytes // len(sender.producers))
    rows = 0
    try:
        sender.open()
        for batch in batches:
            sender.send(batch, share)
            rows += batch.num_rows
        sender.flush(share)
        sender.await_receipts()
    finally:
        sender.close()
    return rows


def _send_to_topics_of_rows(topics: RowTopics, batches: Iterator[pa.RecordBatch]) -> int:
    rows = 0
    try:
        for batch in batches:
            topics.send(batch)
            rows += batch.num_rows
        topics.finish()
    finally:
        topics.close()
    return rows
