"""What one writing task does: encode, send, and wait for every receipt. Executor only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.row_topics import RowTopics
from pyspark_pulsar.write.sender import TopicSender
from pyspark_pulsar.write.target import RowTargets, Target


def write_rows(options: WriteOptions, target: Target | RowTargets, batches: Iterator[pa.RecordBatch]) -> int:
    """Store all rows; returns how many. When it returns, every one has the broker's receipt.

    When it raises, or the process dies, some rows may be stored: Spark runs the task again, so readers may
    see rows twice (at-least-once). Raises `SendError`, `SchemaError` for a row that does not fit.
    """
    with BrokerClient(options) as client:
        if isinstance(target, RowTargets):
            return _write_to_topics_of_rows(RowTopics(client, options, target), batches)
        return _write_to_one_topic(options, TopicSender(client, options, target), batches)


def _write_to_one_topic(options: WriteOptions, sender: TopicSender, batches: Iterator[pa.RecordBatch]) -> int:
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


def _write_to_topics_of_rows(topics: RowTopics, batches: Iterator[pa.RecordBatch]) -> int:
    rows = 0
    try:
        for batch in batches:
            topics.send(batch)
            rows += batch.num_rows
        topics.finish()
    finally:
        topics.close()
    return rows
