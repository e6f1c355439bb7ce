"""CREATE TABLE, which creates a topic with its schema, properties and policies. After a failure, nothing remains."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.json_columns import arrow_columns, comments
from pyspark_pulsar.catalog.properties.retention import apply_retention, keep_messages
from pyspark_pulsar.catalog.properties.table_properties import (
    KEY_COLUMN_PROPERTY,
    TableProperties,
    compaction_without_keys,
    has_separated_keys,
    parse_table_properties,
)
from pyspark_pulsar.catalog.statements.drop_table import refuse_unchangeable
from pyspark_pulsar.catalog.statements.evolution import EditedRecord
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import CatalogUnsupported, PulsarError, SchemaError, TopicExistsError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.primitive import RECORD_TYPES
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema
from pyspark_pulsar.write.key_column import keyed_columns, refuse_separated

_METADATA: Final = "__"


def create_table(
    admin: AdminClient,
    topic: TopicName,
    schema: Mapping[str, Any],
    properties: Mapping[str, str],
    partitioning: Sequence[str],
    options: WriteOptions,
) -> None:
    """Create a topic. All checks precede the creation. If a later step fails, the topic is deleted again.

    Args:
        admin: The admin client.
        topic: The topic to create.
        schema: The columns, as JSON of a StructType.
        properties: The properties of the table.
        partitioning: The columns of PARTITIONED BY. If the list is not empty, the call raises `CatalogUnsupported`.
        options: The write options, for values that `properties` does not set.

    Raises:
        TopicExistsError: The topic exists already.
        NamespaceNotFoundError: The namespace does not exist.
        SchemaError: No Pulsar schema can describe the columns.
        OptionError: The value of a property is invalid.
        CatalogUnsupported: The statement requests a feature that topics do not have.

    """
    if partitioning:
        raise CatalogUnsupported(
            f"PARTITIONED BY {', '.join(partitioning)}: expected no columns, because the key of a message selects its "
            "partition, got columns; set the property partitions instead"
        )
    if not topic.is_persistent:
        raise CatalogUnsupported(
            f"topic {topic}: expected a persistent topic, got a non-persistent one, which stores no messages; create a "
            "persistent topic"
        )
    refuse_unchangeable(admin, topic, "created")
    if topic.partition >= 0:
        raise CatalogUnsupported(
            f"topic {topic}: expected a name without the suffix -partition-<number>, which names one partition, got "
            "a name with this suffix; choose another name, or set the property partitions"
        )
    table = parse_table_properties(properties)
    info, registers = _schema(topic, schema, table, options)
    if table.compaction_bytes and table.key_column is None and not has_separated_keys(info, topic):
        raise compaction_without_keys("property 'compaction_threshold'")
    if admin.topics.partitions(topic) is not None:
        raise TopicExistsError(
            f"topic {topic}: expected a new name, got one that exists; choose another name, or add IF NOT EXISTS"
        )
    partitions = table.partitions if table.partitions is not None else options.partitions or 0
    admin.topics.create(topic, partitions)
    try:
        # The schema is registered last. If this process is killed before this step, the table has no columns, so users
        # see that the table is incomplete. The order also ensures that a table with columns always has its property for
        # the key column.
        _set_up(admin, topic, table)
        if registers:
            admin.schemas.register(topic, info)
    except PulsarError as fault:
        _delete_topic(admin, topic, partitions, fault)
        raise


def _schema(
    topic: TopicName, schema: Mapping[str, Any], table: TableProperties, options: WriteOptions
) -> tuple[SchemaInfo, bool]:
    """Return the schema of the new topic, and whether the schema must be registered."""
    columns = arrow_columns(schema)
    _refuse_metadata(topic, columns)
    write_schema = resolve_write_schema(
        columns,
        None,
        topic=str(topic),
        value_format=table.value_format or options.value_format,
        key_value_encoding=table.key_value_encoding or options.key_value_encoding,
        record_name=topic.local,
        descriptor=read_descriptor_file(options),
    )
    keyed_columns(columns, table.key_column)
    refuse_separated(write_schema.info, table.key_column, str(topic))
    return _with_comments(write_schema.info, schema), write_schema.registers


def _refuse_metadata(topic: TopicName, columns: pa.Schema) -> None:
    named = [name for name in columns.names if name.startswith(_METADATA)]
    if named:
        raise SchemaError(
            f"topic {topic}: expected column names without the prefix {_METADATA}, got {', '.join(named)}; remove "
            "metadata columns, which every table has, and choose other names for your own columns"
        )


def _with_comments(info: SchemaInfo, schema: Mapping[str, Any]) -> SchemaInfo:
    texts = comments(schema)
    if info.type not in RECORD_TYPES or not texts:
        return info
    record = EditedRecord(json.loads(info.text), where=f"schema {info.name}")
    for path, text in texts.items():
        record.comment(path, text)
    return replace(info, document=record.text().encode())


def _set_up(admin: AdminClient, topic: TopicName, table: TableProperties) -> None:
    own = dict(table.own)
    if table.key_column is not None:
        own[KEY_COLUMN_PROPERTY] = table.key_column
    if own:
        admin.topics.set_properties(topic, own)
    if table.retention is None:
        keep_messages(admin, topic)
    else:
        apply_retention(admin, topic, table.retention)
    if table.message_ttl_seconds is not None:
        admin.policies.set_message_ttl(topic, table.message_ttl_seconds)
    if table.compaction_bytes is not None:
        admin.policies.set_compaction_threshold(topic, table.compaction_bytes)


def _delete_topic(admin: AdminClient, topic: TopicName, partitions: int, fault: PulsarError) -> None:
    try:
        admin.topics.delete(topic, partitioned=partitions > 0)
    except PulsarError as remaining_fault:
        raise type(fault)(
            f"{fault}; the incomplete topic could not be deleted ({remaining_fault}): drop the table"
        ) from None
