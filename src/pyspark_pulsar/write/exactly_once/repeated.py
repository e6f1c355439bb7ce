"""The digest of the rows of an epoch that the journal has already decided. Runs on executors only.

The encoder processes the rows in the same way as rows to send, but the rows are not sent.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.codec.encode import BatchEncoder, Producing
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.key_column import keyed
from pyspark_pulsar.write.row_topics import rows_by_topic
from pyspark_pulsar.write.target import RowTargets, Target, settle_topic


def digest_rows(
    options: WriteOptions,
    target: Target | RowTargets,
    batches: Iterator[pa.RecordBatch],
    client: BrokerClient,
) -> RowDigest:
    """Return the digest that `send_rows` would return for these rows.

    Raises:
        SchemaError: A row does not fit the schema.
        PulsarError: Settling a topic that rows name failed.

    """
    encoders: dict[str, BatchEncoder] = {}
    for batch in keyed(batches, options.key_column):
        for name, rows in (
            [(str(target.topic), batch)] if isinstance(target, Target) else rows_by_topic(batch)
        ):
            if name not in encoders:
                encoders[name] = _encoder(options, _settled(options, target, name, client))
            encoders[name].digest(rows)
    return sum((encoder.row_digest for encoder in encoders.values()), RowDigest())


def _settled(options: WriteOptions, target: Target | RowTargets, name: str, client: BrokerClient) -> Target:
    if isinstance(target, Target):
        return target
    topic = TopicName.parse(name)
    return settle_topic(client, options, topic, target.columns, target.descriptor, named_by_rows=True)


def _encoder(options: WriteOptions, target: Target) -> BatchEncoder:
    producing = Producing(tombstones=options.write_tombstones, key_column=options.key_column)
    return BatchEncoder(
        target.schema, topic=str(target.topic), partitions=1, producing=producing, digests=True
    )
