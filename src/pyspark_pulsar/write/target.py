"""The topic that a write goes to, settled before any row is sent. Driver only."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.producer import Producer
from pyspark_pulsar.descriptor_file import read_descriptor_file
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.write_schema import WriteSchema, resolve_write_schema
from pyspark_pulsar.topic import TopicName, TopicPartition


@dataclass(frozen=True)
class Target:
    """A topic that exists, with the schema that its rows are encoded to. Picklable.

    `partitions` are the full names of the streams to send to, in order of partition index.
    """

    topic: TopicName
    partitions: tuple[str, ...]
    schema: WriteSchema


def settle_target(options: WriteOptions, columns: pa.Schema) -> Target:
    """Create the topic if there is none, register its schema if it has none, and check the columns.

    A topic that is missing is created as the broker's auto-creation policy says. Raises `SchemaError` for
    columns that do not fit, `OptionError` for a topic that is not persistent, `TopicNotFoundError` when the
    broker does not create topics by itself.
    """
    topic = TopicName.parse(options.topic)
    if not topic.is_persistent:
        raise OptionError(
            f"topic {topic}: expected a persistent topic, got a non-persistent one, which stores no messages; "
            f"make it persistent"
        )
    descriptor = read_descriptor_file(options)
    with BrokerClient.for_planning(options) as client:
        schema = resolve_write_schema(
            columns,
            client.schema(topic.without_partition()),
            topic=str(topic),
            value_format=options.value_format,
            key_value_encoding=options.key_value_encoding,
            record_name=topic.without_partition().local,
            descriptor=descriptor,
        )
        count = client.partition_count(topic, create=True)
        names = tuple(TopicPartition(topic, index).name for index in range(count)) or (str(topic),)
        # Opening a producer is what creates a topic that is not partitioned and registers the schema.
        producer = Producer(client, names[0], 1, schema.info, client.request_seconds)
        producer.open()
        producer.close()
    return Target(topic, names, schema)
