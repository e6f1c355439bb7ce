"""The one schema that all topics of a read share. Driver only."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.descriptor_file import read_descriptor_file
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.discovery import discover_partitions, discover_topics, require_topics
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema
from pyspark_pulsar.topic import TopicName


def resolve_source_schema(options: ReadOptions) -> ReadSchema:
    """Raises `SchemaError` when the topics differ, listing them by schema; `TopicNotFoundError`."""
    descriptor = read_descriptor_file(options)
    with BrokerClient.for_planning(options) as client:
        topics = require_topics(discover_topics(client, options), options)
        discover_partitions(client, topics)
        schemas = {topic: client.schema(topic.without_partition()) for topic in topics}
    return resolve_read_schema(_only_schema(schemas), topic=str(topics[0]), descriptor=descriptor)


def _only_schema(schemas: dict[TopicName, SchemaInfo | None]) -> SchemaInfo | None:
    groups: dict[tuple[str, bytes], list[TopicName]] = {}
    for topic, info in schemas.items():
        key = ("NONE", b"") if info is None else (info.type.name, info.document)
        groups.setdefault(key, []).append(topic)
    if len(groups) > 1:
        listing = "; ".join(
            f"{kind}: {', '.join(str(topic) for topic in topics)}" for (kind, _), topics in groups.items()
        )
        raise SchemaError(
            f"expected topics that share one schema, got {len(groups)} different ones ({listing}); read them apart"
        )
    return next(iter(schemas.values()))


def restrict_to(resolved: ReadSchema, wanted: pa.Schema) -> ReadSchema:
    """The read schema with only the columns that `.schema(...)` names, in its order.

    Raises `SchemaError` for a column that the topic lacks or has in another type.
    """
    if wanted.equals(resolved.output_schema):
        return resolved
    faults = []
    for field in wanted:
        index = resolved.output_schema.get_field_index(field.name)
        if index < 0:
            faults.append(f"column {field.name}, which the topic does not have")
        elif resolved.output_schema.field(index).type != field.type:
            faults.append(
                f"column {field.name} as {field.type}, expected {resolved.output_schema.field(index).type}"
            )
    if faults:
        raise SchemaError(
            f"expected a schema with columns among {', '.join(resolved.output_schema.names)}, got "
            + "; ".join(faults)
        )
    return replace(resolved, output_schema=wanted)
