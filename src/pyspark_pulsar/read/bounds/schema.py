"""The common schema of all topics of a read. Driver only."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.codec.decode import check_readable
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topic_wait import present_topics
from pyspark_pulsar.read.bounds.topics import discover_partitions, require_topics
from pyspark_pulsar.schema.family.topics import Schemas, TopicFamily, described_family, topic_family
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file
from pyspark_pulsar.schema.read_schema import ColumnChoice, ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.unfolding import Omission, Unfolding
from pyspark_pulsar.schema.user_schema import restrict_to

_MOST_EARLIER_VERSIONS = 100
_SHOWN_FIELDS: Final = 5

_log: Final = logging.getLogger(__name__)
_warned: Final[set[tuple[str, tuple[Omission, ...]]]] = set()


def resolve_source_schema(options: ReadOptions, user_schema: pa.Schema | None = None) -> ReadSchema:
    """Return the schema of a read, from the latest schemas of its topics.

    Args:
        options: The options of the read.
        user_schema: The columns of `.schema(...)`.

    Raises:
        SchemaError: The topics do not fit into one table, or a column of `user_schema` is not available.
        TopicNotFoundError: A topic does not exist.

    """
    descriptor = read_descriptor_file(options)
    with BrokerClient.for_planning(options) as client:
        topics = require_topics(present_topics(client, options), options)
        return schema_of_topics(client, topics, options, descriptor, user_schema)


def schema_of_topics(
    client: BrokerClient,
    topics: list[TopicName],
    options: ReadOptions,
    descriptor: DescriptorFile | None,
    user_schema: pa.Schema | None = None,
) -> ReadSchema:
    """Return the schema as `resolve_source_schema` does, but of at least one known topic, and with an open client."""
    if options.topics_pattern is None:
        # Topics that match a pattern exist, because a broker has just listed them.
        discover_partitions(client, topics)
    names = sorted({topic.without_partition() for topic in topics})
    schemas = dict.fromkeys(names) if options.different_schemas else client.schemas(names)
    unfolding = Unfolding(options.recursive_depth or 1, user_schema)
    family = topic_family(schemas, unfolding) if descriptor is None else described_family(schemas)
    first, info = family.members[0][0], family.info
    resolved = resolve_read_schema(
        info,
        topic=str(first),
        columns=column_choice(options),
        descriptor=descriptor,
        payload=family.payload,
        unfolding=unfolding,
    )
    if options.topic is None and descriptor is None:
        resolved = replace(resolved, own_schemas=family.digest)
    if user_schema is not None:
        earlier = partial(_earlier_versions, client, schemas, family)
        resolved = restrict_to(resolved, user_schema, topic=str(first), older=earlier, unfolding=unfolding)
    else:
        warn_of_omitted(str(first), resolved, options)
    _check_readable(resolved, family)
    return resolved


def warn_of_omitted(topic: str, resolved: ReadSchema, options: ReadOptions) -> None:
    """Log the fields that no column can contain, once in each process.

    Fields beyond option `recursiveDepth` are not logged if the option is set, because the user expects them to be left
    out.
    """
    omitted = resolved.value.omitted
    if options.recursive_depth is not None:
        omitted = tuple(omission for omission in omitted if not omission.is_recursion)
    if options.columns is not None or not omitted or (topic, omitted) in _warned:
        return
    _warned.add((topic, omitted))
    more = f" and {len(omitted) - _SHOWN_FIELDS} more" if len(omitted) > _SHOWN_FIELDS else ""
    _log.warning(
        "Leaving out fields that no column can contain: topic %s: %s%s",
        topic, ", ".join(omission.text() for omission in omitted[:_SHOWN_FIELDS]), more,
    )  # fmt: skip


def column_choice(options: ReadOptions) -> ColumnChoice:
    """Return the columns that the options choose."""
    is_shown = options.columns is None or options.corrupt_column in options.columns
    return ColumnChoice(
        names=options.columns,
        further=("__schemaVersion",) if options.different_schemas else (),
        corrupt_column=options.corrupt_column,
        shows_bad_rows=options.mode == "PERMISSIVE" and is_shown,
    )


def _check_readable(resolved: ReadSchema, family: TopicFamily) -> None:
    """Check that the decoder can read each topic. Otherwise an unreadable schema would fail a task later."""
    for topic, info in family.members if len(family.members) > 1 else ():
        if info is not None:
            check_readable(resolved, topic, info)


def _earlier_versions(client: BrokerClient, schemas: Schemas, family: TopicFamily) -> Iterator[SchemaInfo]:
    """Yield at most 100 schema versions before the latest versions, from the newest to the oldest.

    If several versions are equally far from their latest versions, the versions of topics with differing schemas are
    first. If a registry's versions are not numbers, its earlier versions cannot be enumerated, so none are yielded.
    """
    members = dict(family.members)
    topics = [*members, *(topic for topic in schemas if topic not in members)]
    latest = {topic: info.version_count or 0 for topic, info in schemas.items() if info is not None}
    steps = range(1, max(latest.values(), default=0) + 1)
    earlier = (
        (topic, latest[topic] - step) for step in steps for topic in topics if latest.get(topic, 0) >= step
    )
    for topic, number in islice(earlier, _MOST_EARLIER_VERSIONS):
        info = client.schema(topic, number.to_bytes(VERSION_BYTES, "big", signed=True))
        if info is not None:
            yield info
