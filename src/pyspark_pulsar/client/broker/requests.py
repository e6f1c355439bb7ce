"""Requests about topics that any broker can answer: their commands, their answers, and their texts in errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, TypeVar

from pyspark_pulsar.client.broker.connection.commands import (
    GET_SCHEMA,
    GET_TOPICS_OF_NAMESPACE,
    LOOKUP,
    PARTITIONED_METADATA,
    SCALABLE_TOPIC_CLOSE,
    SCALABLE_TOPIC_LOOKUP,
    frame,
)
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.security.url import BrokerAddress, parse_broker_url
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import OptionError, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition
from pyspark_pulsar.model.topic_layout import TopicLayout, TopicSegment, topic_layout
from pyspark_pulsar.schema.info import SchemaInfo

Item = TypeVar("Item")

AT_ONCE: Final = 1000
"""Maximum number of concurrent requests. Brokers refuse lookups only at a far greater number."""

_SEALED = 1


def schema_command(topic: TopicName, version: bytes | None) -> wire.BaseCommand:
    request = wire.CommandGetSchema(request_id=0, topic=str(topic))
    if version is not None:
        request.schema_version = version
    return wire.BaseCommand(type=GET_SCHEMA, getSchema=request)


def reading_schema(topic: TopicName) -> str:
    return f"reading the schema of {topic}"


def schema_of(answer: Any, where: str) -> SchemaInfo | None:
    """Return the schema in an answer, or None if the topic has no schema. Raise any other refusal as an error."""
    if answer.HasField("error_code"):
        fault = server_error(answer.error_code, answer.error_message, where)
        if isinstance(fault, TopicNotFoundError):
            return None
        raise fault
    return SchemaInfo.from_wire(
        name=answer.schema.name,
        type_number=answer.schema.type,
        schema_data=answer.schema.schema_data,
        properties=[(pair.key, pair.value) for pair in answer.schema.properties],
        version=answer.schema_version or None,
    )


def reading_partitions(topic: TopicName) -> str:
    return f"reading the partitions of {topic}"


def partitions_command(topic: TopicName, create: bool) -> wire.BaseCommand:
    request = wire.CommandPartitionedTopicMetadata(
        topic=str(topic), request_id=0, metadata_auto_creation_enabled=create
    )
    return wire.BaseCommand(type=PARTITIONED_METADATA, partitionMetadata=request)


def looking_up(topic: str) -> str:
    return f"looking up {topic}"


def lookup_command(topic: str, listener_name: str | None, *, authoritative: bool = False) -> wire.BaseCommand:
    """Return the command of a lookup.

    Args:
        topic: The topic.
        listener_name: The advertised listener whose address the broker returns. With None, the broker chooses the
            listener.
        authoritative: Whether the broker must decide the owner itself. A redirect contains this value for the next
            lookup.

    """
    request = wire.CommandLookupTopic(topic=topic, request_id=0, authoritative=authoritative)
    if listener_name is not None:
        request.advertised_listener_name = listener_name
    return wire.BaseCommand(type=LOOKUP, lookupTopic=request)


def owner_of(answer: wire.CommandLookupTopicResponse, where: str, *, tls: bool) -> BrokerAddress:
    """Return the address of the topic's owner in a lookup answer.

    Args:
        answer: The answer to a lookup.
        where: A description of the lookup, for error messages.
        tls: Whether to return the address for TLS.

    Raises:
        OptionError: The broker has only an address with TLS and `tls` is False, or only an address without TLS and
            `tls` is True.
        ProtocolError: The address is malformed.

    """
    url = answer.brokerServiceUrlTls if tls else answer.brokerServiceUrl
    if not url and (answer.brokerServiceUrl or answer.brokerServiceUrlTls):
        wanted, present, scheme = (
            ("with", "without", "pulsar://") if tls else ("without", "with", "pulsar+ssl://")
        )
        raise OptionError(
            f"{where}: expected a broker's address {wanted} TLS, got only an address {present} TLS; use {scheme} in "
            f"service.url"
        )
    return parse_broker_url(url, where)


def listing_command(namespace: Namespace, digest: str | None) -> wire.BaseCommand:
    """Return the command to list topics.

    Args:
        namespace: The namespace.
        digest: The broker's hash of the list that the client already has, or None. The broker does not send an
            unchanged list again.

    """
    request = wire.CommandGetTopicsOfNamespace(request_id=0, namespace=str(namespace), mode=0)
    if digest:
        request.topics_hash = digest
    return wire.BaseCommand(type=GET_TOPICS_OF_NAMESPACE, getTopicsOfNamespace=request)


def listing_topics(namespace: Namespace) -> str:
    return f"listing the topics of {namespace}"


def reading_layout(topic: TopicName) -> str:
    return f"reading the segments of {topic}"


def layout_command(topic: TopicName) -> wire.BaseCommand:
    """Return the command to read a scalable topic's layout. The command never creates a topic."""
    request = wire.CommandScalableTopicLookup(session_id=0, topic=str(topic), create_if_missing=False)
    return wire.BaseCommand(type=SCALABLE_TOPIC_LOOKUP, scalableTopicLookup=request)


def end_of_layouts(answer: wire.CommandScalableTopicUpdate) -> bytes:
    """Return the frame that makes the broker stop sending updates of the topic's layout."""
    close = wire.CommandScalableTopicClose(session_id=answer.session_id)
    return frame(wire.BaseCommand(type=SCALABLE_TOPIC_CLOSE, scalableTopicClose=close))


def layout_from(answer: wire.CommandScalableTopicUpdate, topic: TopicName) -> TopicLayout:
    """Return the layout in an answer. Raise a refusal of the broker as an error."""
    where = reading_layout(topic)
    if answer.HasField("error"):
        raise server_error(answer.error, answer.message, where)
    segments = [
        TopicSegment(
            segment.segment_id,
            segment.hash_start,
            segment.hash_end,
            segment.state == _SEALED,
            tuple(segment.parent_ids),
            TopicPartition.parse(segment.legacy_topic_name) if segment.legacy_topic_name else None,
        )
        for segment in answer.dag.segments
    ]
    return topic_layout(topic, segments, where)


def in_windows(items: Iterable[Item], size: int = AT_ONCE) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size` items, in order."""
    rest = iter(items)
    while window := list(islice(rest, size)):
        yield window
