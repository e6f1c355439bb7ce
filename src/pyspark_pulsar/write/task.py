"""What one writing task does: encode, send, and wait for every receipt. Executor only."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.producer import Producer
from pyspark_pulsar.client.transactions import TransactionId
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.target import Target


def write_rows(options: WriteOptions, target: Target, batches: Iterator[pa.RecordBatch]) -> int:
    """Store all rows; returns how many. When it returns, every one has the broker's receipt, unless the delivery
    guarantee is `none`.

    When it raises, or the process dies, some rows may be stored: Spark runs the task again, so readers may
    see rows twice (at-least-once). Raises `SendError`, `SchemaError` for a row that does not fit.
    """
    with BrokerClient(options) as client:
        return send_rows(options, target, batches, client)


def send_rows(
    options: WriteOptions,
    target: Target,
    batches: Iterator[pa.RecordBatch],
    client: BrokerClient,
    transaction: TransactionId | None = None,
) -> int:
    """`write_rows` by `client`. In a transaction, to which the target's partitions were added, no message is sent a
    second time: a connection that breaks with receipts due is a `SendError`."""
    producers = [
        Producer(
            client,
            name,
            index + 1,
            target.schema.info,
            options.send_timeout_ms / 1000,
            transactional=transaction is not None,
            sends_again=transaction is None,
        )
        for index, name in enumerate(target.partitions)
    ]
    try:
        for producer in producers:
            producer.open()
        return _send_all(options, _encoder(options, target, producers, transaction), batches, producers)
    finally:
        for producer in producers:
            producer.close()


def _send_all(
    options: WriteOptions, encoder: BatchEncoder, batches: Iterator[pa.RecordBatch], producers: list[Producer]
) -> int:
    share = max(1, options.max_pending_bytes // len(producers))
    rows = 0
    for batch in batches:
        for frames in encoder.encode(batch, time.time_ns() // 1_000_000):
            producer = producers[frames.partition]
            producer.await_below(share)
            producer.send(frames)
            rows += frames.num_messages
    if options.delivery_guarantee != "none":
        for producer in producers:
            producer.await_below(0)
    return rows


def _encoder(
    options: WriteOptions, target: Target, producers: list[Producer], transaction: TransactionId | None
) -> BatchEncoder:
    encoder = BatchEncoder(
        target.schema,
        topic=str(target.topic),
        partitions=len(producers),
        compression=options.compression_type,
        batching_max_messages=options.batching_max_messages,
        batching_max_bytes=options.batching_max_bytes,
        max_message_bytes=min(producer.max_message_bytes for producer in producers),
    )
    for index, producer in enumerate(producers):
        encoder.set_producer(
            index,
            producer_id=producer.producer_id,
            producer_name=producer.name,
            next_sequence_id=0,
            schema_version=producer.schema_version,
            transaction=transaction,
        )
    return encoder
