"""CREATE TABLE: a topic, its schema, its properties and policies; all of it or nothing."""

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
    has_separated_keys,
    needs_keys,
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
    """A new topic with columns `schema` (a StructType as JSON). `options` say what `properties` do not.

    Everything that can be checked is checked before the topic is there; what fails later takes the topic away again.
    Raises `TopicExistsError`, `NamespaceNotFoundError`, `SchemaError`, OptionError, `CatalogUnsupported`.
    """
    if partitioning:
        raise CatalogUnsupported(
            f"PARTITIONED BY {', '.join(partitioning)}: expected none, since messages go to Pulsar's partitions by "
            "their key, got columns; set the property partitions instead"
        )
    if not topic.is_persistent:
        raise CatalogUnsupported(
            f"topic {topic}: expected a persistent topic, got a non-persistent one, which stores no messages; make it "
            "persistent"
        )
    refuse_unchangeable(admin, topic, "created")
    if topic.partition >= 0:
        raise CatalogUnsupported(
            f"topic {topic}: expected a name without -partition- and a number, which names one partition, got one with "
            "it; choose another, or set the property partitions"
        )
    table = parse_table_properties(properties)
    info, registers = _schema(topic, schema, table, options)
    if table.compaction_bytes and table.key_column is None and not has_separated_keys(info, topic):
        raise needs_keys("property 'compaction_threshold'")
    if admin.topics.partitions(topic) is not None:
        raise TopicExistsError(
            f"topic {topic}: expected a new name, got one that exists; choose another, or say IF NOT EXISTS"
        )
    partitions = table.partitions if table.partitions is not None else options.partitions or 0
    admin.topics.create(topic, partitions)
    try:
        # The schema comes last: where this process is killed in between, the table shows that it is not whole, and
        # none has its columns without its key column.
        _set_up(admin, topic, table)
        if registers:
            admin.schemas.register(topic, info)
    except PulsarError as fault:
        _take_away(admin, topic, partitions, fault)
        raise


def _schema(
    topic: TopicName, schema: Mapping[str, Any], table: TableProperties, options: WriteOptions
) -> tuple[SchemaInfo, bool]:
    """What the topic's schema will be, and whether it is registered."""
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
    return _commented(write_schema.info, schema), write_schema.registers


def _refuse_metadata(topic: TopicName, columns: pa.Schema) -> None:
    named = [name for name in columns.names if name.startswith(_METADATA)]
    if named:
        raise SchemaError(
            f"topic {topic}: expected columns whose names do not begin with {_METADATA}, got {', '.join(named)}; leave "
            "them out: the metadata columns are always there, and other names are yours to choose"
        )


def _commented(info: SchemaInfo, schema: Mapping[str, Any]) -> SchemaInfo:
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


def _take_away(admin: AdminClient, topic: TopicName, partitions: int, fault: PulsarError) -> None:
    try:
        admin.topics.delete(topic, partitioned=partitions > 0)
    except PulsarError as left:
        raise type(fault)(f"{fault}; the topic is there now without all of this, drop it ({left})") from None
