"""The topic of a write, settled before any row is sent to it: on the driver, or in tasks if rows name the topic."""

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
    """An existing topic, with the schema for its rows. Picklable.

    `partitions` contains the full names of the streams to send to, in order of their partition index.
    """

    topic: TopicName
    partitions: tuple[str, ...]
    schema: WriteSchema


@dataclass(frozen=True)
class RowTargets:
    """Topics that rows name. The tasks that receive the rows settle them. Picklable.

    `columns` contains the DataFrame's columns, and `__key` if option `keyColumn` adds it.
    """

    columns: pa.Schema
    descriptor: DescriptorFile | None


def settle_target(options: WriteOptions, columns: pa.Schema, *, runs: bool = False) -> Target | RowTargets:
    """Settle the topic of option `topic`, create it, and register its schema; or return topics that rows name.

    Args:
        options: The options of the write.
        columns: The columns of the DataFrame.
        runs: See `BrokerClient.for_planning`.

    Returns:
        The topic. Without option `topic`, the topics that rows name.

    Raises:
        OptionError: Neither the option nor a column names a topic.
        SchemaError: The columns do not fit.
        PulsarError: As `settle_topic` and opening a producer raise it.

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
        # Opening a producer creates a topic without partitions, and registers the schema.
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

    With option `partitions`, the topic is created with that number. Without the option, the broker's auto-creation
    policy decides, and topics that rows name are not created. A topic without partitions is created by its first
    producer, which also registers the schema.

    Args:
        client: The connections to brokers.
        options: The options of the write.
        topic: The topic.
        columns: The columns of the DataFrame.
        descriptor: The Protobuf descriptor of the options, if any.
        named_by_rows: Whether rows name the topic.
        runs: Whether the query already runs, and so waits for a broker that restarts.

    Raises:
        SchemaError: The columns do not fit.
        TopicNotFoundError: The topic does not exist and is not created.
        OptionError: As `check_domain` raises it.

    """
    check_domain(options, topic)
    # The schema is checked first, so that columns that do not fit create no topic.
    schema = _write_schema(client, options, topic, columns, descriptor)
    count = _partitions(client, options, topic, named_by_rows=named_by_rows, runs=runs or named_by_rows)
    names = tuple(TopicPartition(topic, index).name for index in range(count)) or (str(topic),)
    return Target(topic, names, schema)


def check_domain(options: WriteOptions, topic: TopicName) -> None:
    """Refuse a non-persistent topic unless rows may be lost.

    Raises:
        OptionError: The topic is not persistent, and `deliveryGuarantee` is not `none`.

    """
    if not topic.is_persistent and options.delivery_guarantee != "none":
        raise OptionError(
            f"topic {topic} is not persistent: expected deliveryGuarantee=none, got {options.delivery_guarantee}. Such "
            f"a topic stores no message, and delivers rows only to present consumers; set the option, or use a "
            f"persistent topic"
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
                f"topic {topic}, which rows name in column {ROUTING}, does not exist; create it, correct the rows, or "
                f"set option 'partitions', so that the write creates it"
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
            f"option 'topic' is missing: expected it, or a column {ROUTING} that names the topic of each row, got "
            f"columns {', '.join(columns.names)}; set the option, or add the column"
        )
    # A mistake that fits no topic at all is reported before the first row.
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
            f"value are tombstones, got columns {', '.join(columns.names)}; add one, or remove the option"
        )
    values = [name for name in columns.names if not name.startswith("__")]
    if options.key_column is not None and values == [options.key_column]:
        raise OptionError(
            f"option 'writeTombstones': expected a value column besides the column of keyColumn, got only "
            f"{options.key_column}. Then every row would delete its key; if you want that, add a column of nulls"
        )
