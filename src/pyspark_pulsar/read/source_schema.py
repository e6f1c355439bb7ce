"""The one schema that all topics of a read share. Driver only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.descriptors import read_descriptor_file
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.discovery import discover_partitions, discover_topics, require_topics
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo
from pyspark_pulsar.schema.protobuf_descriptor import DescriptorFile
from pyspark_pulsar.schema.read_schema import ColumnChoice, ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.same_schema import only_schema
from pyspark_pulsar.schema.wanted_columns import restrict_to
from pyspark_pulsar.topic import TopicName

_FORMER_VERSIONS = 100


def resolve_source_schema(options: ReadOptions, wanted: pa.Schema | None = None) -> ReadSchema:
    """What the read yields by the latest schema of its topics; `wanted` are the columns of `.schema(...)`.

    Raises `SchemaError` when the topics differ, listing them by schema, and for columns that cannot be had;
    `TopicNotFoundError`.
    """
    descriptor = read_descriptor_file(options)
    with BrokerClient.for_planning(options) as client:
        topics = require_topics(discover_topics(client, options), options)
        return schema_of_topics(client, topics, options, descriptor, wanted)


def schema_of_topics(
    client: BrokerClient,
    topics: list[TopicName],
    options: ReadOptions,
    descriptor: DescriptorFile | None,
    wanted: pa.Schema | None = None,
) -> ReadSchema:
    """`resolve_source_schema` for topics that are known by name, at least one, with a client that is open."""
    discover_partitions(client, topics)
    first = topics[0].without_partition()
    info = None if options.different_schemas else _shared_schema(client, topics)
    resolved = resolve_read_schema(
        info, topic=str(first), columns=column_choice(options), descriptor=descriptor
    )
    if wanted is None:
        return resolved
    return restrict_to(
        resolved, wanted, topic=str(first), older=lambda: _former_versions(client, first, info)
    )


def column_choice(options: ReadOptions) -> ColumnChoice:
    """What the options say about columns."""
    return ColumnChoice(
        names=options.columns,
        further=("__schemaVersion",) if options.different_schemas else (),
        corrupt_column=options.corrupt_column,
        shows_bad_rows=options.mode == "PERMISSIVE",
    )


def _shared_schema(client: BrokerClient, topics: list[TopicName]) -> SchemaInfo | None:
    names = {topic.without_partition() for topic in topics}
    return only_schema(client.schemas(sorted(names)))


def _former_versions(
    client: BrokerClient, topic: TopicName, latest: SchemaInfo | None
) -> Iterator[SchemaInfo]:
    """Versions before the latest, backwards, at most 100; a registry with versions that are no numbers has
    none that could be counted."""
    number = None if latest is None else latest.version_count
    if number is None:
        return
    for former in range(number - 1, max(-1, number - 1 - _FORMER_VERSIONS), -1):
        info = client.schema(topic, former.to_bytes(VERSION_BYTES, "big", signed=True))
        if info is not None:
            yield info
