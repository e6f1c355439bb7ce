"""The columns of a topic's table, and the changes to the table when the topic's schema changes. Driver only.

The table contains the value columns, followed by the metadata columns. The next column, `PAYLOAD_COLUMN`, contains the
payload of each message that the value columns do not determine completely. The last column, `TIERED_BY`, contains the
id of the schema with which the row was written. If the topic no longer has a column, the column stays in the table, and
later files do not contain the column.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError, SchemaError
from pyspark_pulsar.history.columnar.layout import BY_DAY, PAYLOAD_COLUMN, TIERED_BY, PartitionField
from pyspark_pulsar.history.columnar.table import ColumnarTable, NewSchema, TableDefinition
from pyspark_pulsar.history.columnar.tiered_schema import parse_tiered_schema, texts_of
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions, option_fields
from pyspark_pulsar.read.bounds.schema import schema_of_topics
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.family.same_schema import identity
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_VALUE
from pyspark_pulsar.schema.read_schema import ALL_VALUE_COLUMNS, ReadSchema
from pyspark_pulsar.schema.unfolding import DEPTH_OPTION

_DIGEST_DIGITS: Final = 32
_BOUNDS: Final = (
    "starting_offsets",
    "starting_subscription",
    "starting_timestamp",
    "starting_offsets_by_timestamp",
    "ending_offsets",
    "ending_timestamp",
    "ending_offsets_by_timestamp",
    "ending_event_time",
    "ending_offsets_by_event_time",
    "read_compacted",
)


@dataclass(frozen=True, slots=True)
class TableSettings:
    """A user's settings for tables that tiering creates. The settings do not change existing tables."""

    partition_fields: tuple[PartitionField, ...] = BY_DAY
    sort_columns: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


def parse_table_settings(
    partition_by: str | None, sort_by: str | None, properties: tuple[tuple[str, str], ...] = ()
) -> TableSettings:
    """Parse the settings for new tables.

    Args:
        partition_by: The partition fields, separated by commas (`columnar.layout`). An empty text selects a table
            without partitions. None selects the default.
        sort_by: The names of the sort columns, separated by commas.
        properties: Additional properties of the table.

    Raises:
        OptionError: A partition field is invalid.

    """
    try:
        fields = (
            BY_DAY if partition_by is None else tuple(map(PartitionField.parse, _split_list(partition_by)))
        )
    except ValueError as fault:
        raise OptionError(f"partition fields: expected {fault}; correct the fields") from None
    return TableSettings(fields, _split_list(sort_by or ""), properties)


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def tiering_options(options: ReadOptions, topic: TopicName) -> ReadOptions:
    """Return the options with which tiering reads a topic: all messages, from any location of the topic's ledgers.

    Raises:
        OptionError: An option would exclude messages.

    """
    if options.mode == "DROPMALFORMED":
        raise OptionError(
            "option 'mode': expected FAILFAST or PERMISSIVE, got DROPMALFORMED, although the table keeps the payloads "
            "of messages that do not decode; remove the option, and set the mode of each read instead"
        )
    if options.crypto_failure_action != "FAIL":
        raise OptionError(
            f"option 'pulsar.consumer.cryptoFailureAction': expected FAIL, got {options.crypto_failure_action}, which "
            f"would store encrypted messages as values, or leave them out; set the keys, or remove the topic from "
            f"tiering"
        )
    _refuse_bounds(options)
    if not options.names_tables:
        raise OptionError(
            "option 'tierCatalog' is missing: expected the catalog of the tables of topics; set tierCatalog"
        )
    return replace(
        options,
        topic=str(topic),
        topics=None,
        topics_pattern=None,
        columns=(ALL_VALUE_COLUMNS, *metadata_columns.FIELDS),
        mode="PERMISSIVE",
        read_from="auto",
        tier_catalog=(),
        tier_catalog_secrets=(),
        split_by="position",
    )


def _refuse_bounds(options: ReadOptions) -> None:
    known = option_fields(ReadOptions)
    for name in _BOUNDS:
        if getattr(options, name):
            raise OptionError(
                f"option {known[name].key!r}: expected no value, because a topic is tiered from its first message, got "
                f"one; remove the option"
            )


def topic_schema(client: BrokerClient, options: ReadOptions) -> ReadSchema:
    """Return the schema with which the rows of the table are read.

    Args:
        client: The broker client.
        options: The result of `tiering_options`.

    Raises:
        SchemaError: The topic's schema cannot be read, or has fields with reserved names.
        OptionError: The depth of recursive types is set. Tiering does not allow this option, because all readers share
            the table.

    """
    if options.recursive_depth is not None:
        raise OptionError(
            f"option {DEPTH_OPTION!r}: expected no value, because tables have no recursive types, got "
            f"{options.recursive_depth}; remove the option"
        )
    schema = schema_of_topics(
        client, [TopicName.parse(str(options.topic))], options, read_descriptor_file(options)
    )
    reserved = {PAYLOAD_COLUMN, TIERED_BY} & set(schema.value_columns.names)
    if reserved:
        raise SchemaError(
            f"topic {options.topic}: expected value fields with other names than {PAYLOAD_COLUMN} and {TIERED_BY}, "
            f"which are columns of each table, got {', '.join(sorted(reserved))}; rename the field in the topic's "
            f"schema, or remove the topic from tiering"
        )
    output = schema.output_schema.append(pa.field(PAYLOAD_COLUMN, pa.binary()))
    return replace(schema, output_schema=output, payload_column=PAYLOAD_COLUMN)


def definition_of(schema: ReadSchema, topic: TopicName, settings: TableSettings) -> TableDefinition:
    """Return the definition of a topic's new table. Raises `OptionError` if a sort column does not exist."""
    for name in settings.sort_columns:
        if name not in schema.output_schema.names:
            raise OptionError(
                f"sort column {name!r}: expected a column of the table, got no column of that name; choose one of "
                f"{', '.join(schema.output_schema.names)}"
            )
    return TableDefinition(
        str(topic.without_partition()),
        _table_columns(schema),
        settings.partition_fields,
        settings.sort_columns,
        settings.properties,
    )


def _table_columns(schema: ReadSchema) -> pa.Schema:
    return schema.output_schema.append(pa.field(TIERED_BY, pa.int64()))


def follow(table: ColumnarTable, schema: ReadSchema) -> str:
    """Add the columns of the topic's schema that the table lacks.

    Returns:
        The text of the schema that the table stores (`columnar.tiered_schema`).

    Raises:
        SchemaError: The type of a column has changed, and rows are partitioned or sorted by this column.
        TableMoved: Another process has committed since the table was loaded.

    """
    digest = schema_digest(schema)
    for text in texts_of(table.schema_texts, digest):
        if table.holds(parse_tiered_schema(text, f"table {table.name}").stored):
            return text
    return table.add_schema(NewSchema(digest, schema.value, _table_columns(schema)))


def schema_digest(schema: ReadSchema) -> str:
    """Return a digest of a schema and its columns. Equal schemas with equal columns have equal digests."""
    # The plan can be from a descriptor file. The registry's schema does not contain such a plan.
    plan = json.loads(schema.value.definition or "{}") if schema.value.value_type == PROTOBUF_VALUE else {}
    made_from = [identity(schema.info), {**plan, "version": None}, schema.output_schema.to_string()]
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:_DIGEST_DIGITS]
