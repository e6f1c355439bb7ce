"""What one Spark task does: open a split's entries and decode them to Arrow. Executor only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.locations.broker import BrokerEntries
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.schema.read_schema import ReadSchema


def read_split(options: ReadOptions, schema: ReadSchema, split: Split) -> Iterator[pa.RecordBatch]:
    """Record batches of exactly `schema.output_schema` with exactly the split's messages, in order.

    A task that Spark runs again reads the same rows. Raises the errors of the client and the decoder.
    """
    topic = split.partition.topic
    with BrokerClient(options) as client:
        decoder = EntryDecoder(
            schema,
            topic=str(topic),
            partition=split.partition.partition,
            fetch_schema=lambda version: client.schema(topic, version),
            batch_rows=options.batch_rows,
            start=split.start.as_tuple(),
            end=split.end.as_tuple(),
        )
        location = BrokerEntries(
            client, split, permits=options.receiver_queue_size, poll_seconds=options.poll_timeout_ms / 1000
        )
        for entries in location:
            yield from decoder.decode(entries)
        yield from decoder.finish()
