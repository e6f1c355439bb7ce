"""Settling the topic of a write: checking the schema, and creating the topic before any row is sent.

The driver settles the topic of the option `topic`. Tasks settle topics that rows name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import PROBE_ID, Producer
from pyspark_pulsar.codec.public_keys import check_encryption
from pyspark_pulsar.errors import (
    NamespaceNotFoundError,
    OptionError,
    SchemaError,
    TopicExistsError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.metadata_columns import ROUTING
from pyspark_pulsar.schema.payload import with_times_as_numbers
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file
from pyspark_pulsar.schema.types.type_text import type_text
from pyspark_pulsar.schema.write.write_schema import WriteSchema, resolve_write_schema
from pyspark_pulsar.write.key_column import KEY, keyed_columns, refuse_separated
from pyspark_pulsar.write.sequence_ids import check_sequence_ids, with_sequence_ids


@dataclass(frozen=True)
class Target:
    """An existing topic, with the schema for its rows. Instances are picklable.

    `partitions` contains the full names of the topic's partitions, sorted by partition index. For a topic without
    partitions, `partitions` contains only the name of the topic.
    """

    topic: TopicName
    partitions: tuple[str, ...]
    schema: WriteSchema


@dataclass(frozen=True)
class RowTargets:
    """A target for rows that name their topics. Tasks settle each topic. Instances are picklable.

    `columns` contains the columns of the DataFrame, and also `__key` if the option `keyColumn` is set.
    """

    columns: pa.Schema
    descriptor: DescriptorFile | None


def settle_target(options: WriteOptions, columns: pa.Schema, *, runs: bool = False) -> Target | RowTargets:
    """Settle the topic of the option `topic`: create a missing topic, and register the schema.

    Args:
        options: The options of the write.
        columns: The columns of the DataFrame.
        runs: True if the query is already running; see `BrokerClient.for_planning`.

    Returns:
        A `Target`; a `RowTargets` if the option `topic` is not set.

    Raises:
        OptionError: Neither the option nor a column names a topic.
        SchemaError: The columns do not fit the schema of the topic.
        PulsarError: Settling the topic or opening a producer failed.

    """
    check_encryption(options)
    columns = keyed_columns(columns, options.key_column)
    _check_tombstones(options, columns)
    check_sequence_ids(options, columns)
    descriptor = read_descriptor_file(options)
    if options.topic is None:
        return _row_targets(columns, descriptor)
    with BrokerClient.for_planning(options, runs=runs) as client:
        target = settle_topic(client, options, TopicName.parse(options.topic), columns, descriptor, runs=runs)
        # Opening a producer registers the schema. For a topic without partitions, this also creates the topic.
        encrypted = bool(options.encryption_keys)
        info, seconds = target.schema.info, client.request_seconds
        producer = Producer(client, target.partitions[0], PROBE_ID, info, seconds, encrypted=encrypted)
        producer.open()
        producer.close()
        return target


def settle_topic(
    client: BrokerClient,
    options: WriteOptions,
    topic: TopicName,
    columns: pa.Schema,
    descriptor: DescriptorFile | None,
    *,
    named_by_rows: bool = False,
    runs: bool = False,
) -> Target:
    """Check the columns, and create the topic if it does not exist.

    With the option `partitions`, a missing topic is created with this number of partitions. Without this option, the
    broker's auto-creation policy applies to the topic of the option `topic`, and missing topics that rows name are not
    created. The first producer creates a topic without partitions, and registers the schema.

    Args:
        client: The connections to brokers.
        options: The options of the write.
        topic: The topic to settle.
        columns: The columns of the DataFrame.
        descriptor: The Protobuf descriptor that the options name; None if the options name no descriptor.
        named_by_rows: True if rows name the topic.
        runs: True if the query is already running. With True, the call waits for brokers that are restarting.

    Raises:
        SchemaError: The columns do not fit the schema of the topic.
        TopicNotFoundError: The topic does not exist, and the write is not allowed to create the topic.
        OptionError: See `check_domain`.

    """
    check_domain(options, topic)
    # The schema is checked first, so that no topic is created for columns that do not fit.
    schema = _write_schema(client, options, topic, columns, descriptor)
    count = _partitions(client, options, topic, named_by_rows=named_by_rows, runs=runs or named_by_rows)
    names = tuple(TopicPartition(topic, index).name for index in range(count)) or (str(topic),)
    return Target(topic, names, schema)


def check_domain(options: WriteOptions, topic: TopicName) -> None:
    """Check that a non-persistent topic is used only with `deliveryGuarantee=none`.

    Raises:
        OptionError: The topic is not persistent, and `deliveryGuarantee` is not `none`.

    """
    if not topic.is_persistent and options.delivery_guarantee != "none":
        raise OptionError(
            f"topic {topic} is not persistent: expected deliveryGuarantee=none, got {options.delivery_guarantee}. "
            f"Non-persistent topics store no messages, and deliver rows only to connected consumers; set "
            f"deliveryGuarantee=none, or use a persistent topic"
        )


def _write_schema(
    client: BrokerClient,
    options: WriteOptions,
    topic: TopicName,
    columns: pa.Schema,
    descriptor: DescriptorFile | None,
) -> WriteSchema:
    info = client.schema(topic.without_partition())
    refuse_separated(info, options.key_column, str(topic))
    schema = resolve_write_schema(
        columns,
        info,
        topic=str(topic),
        value_format=options.value_format,
        key_value_encoding=options.key_value_encoding,
        record_name=topic.without_partition().local,
        descriptor=descriptor,
    )
    if options.json_times == "numbers":
        value = with_times_as_numbers(schema.value, where=f"topic {topic}")
        schema = replace(schema, value=value)
    return schema if options.producer_name is None else with_sequence_ids(schema)


def _partitions(
    client: BrokerClient, options: WriteOptions, topic: TopicName, *, named_by_rows: bool, runs: bool
) -> int:
    if options.partitions is None and not named_by_rows:
        return client.partition_count(topic, create=True)
    try:
        return client.partition_count(topic)
    except TopicNotFoundError:
        if options.partitions is None:
            raise TopicNotFoundError(
                f"topic {topic}, named by rows in column {ROUTING}, does not exist; create the topic, correct the "
                f"rows, or set option 'partitions', so that the write creates the topic"
            ) from None
    with AdminClient(options) if runs else AdminClient.for_planning(options) as admin:
        try:
            admin.topics.create(topic, options.partitions)
        except TopicExistsError:
            pass  # Another writer was faster.
        except NamespaceNotFoundError as fault:
            raise TopicNotFoundError(str(fault)) from None
    return client.partition_count(topic)


def _row_targets(columns: pa.Schema, descriptor: DescriptorFile | None) -> RowTargets:
    if ROUTING not in columns.names:
        raise OptionError(
            f"option 'topic' is missing: expected the option, or a column {ROUTING} that names the topic of each row, "
            f"got columns {', '.join(columns.names)}; set the option, or add the column"
        )
    # An error that does not depend on the topic is reported before the first row.
    if columns.field(ROUTING).type != pa.string():
        raise SchemaError(
            f"column {ROUTING} is {type_text(columns.field(ROUTING).type)}: expected type string; cast it to string"
        )
    return RowTargets(columns, descriptor)


def _check_tombstones(options: WriteOptions, columns: pa.Schema) -> None:
    if not options.write_tombstones:
        return
    if not {KEY, "key"} & set(columns.names):
        raise OptionError(
            "option 'writeTombstones': expected option keyColumn or a column __key, because rows with a key and no "
            f"value are tombstones, got columns {', '.join(columns.names)}; add one of them, or remove the "
            f"option"
        )
    values = [name for name in columns.names if not name.startswith("__")]
    if options.key_column is not None and values == [options.key_column]:
        raise OptionError(
            f"option 'writeTombstones': expected a value column besides the column of keyColumn, got only "
            f"{options.key_column}, so every row would delete its key; to delete the keys of all rows, add a column "
            f"of nulls"
        )
