"""What a client asks any broker about topics: the commands, and how errors name each question."""

from __future__ import annotations

from typing import Any

from pyspark_pulsar.client.broker.commands import GET_SCHEMA, GET_TOPICS_OF_NAMESPACE, PARTITIONED_METADATA
from pyspark_pulsar.client.broker.server_error import server_error
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import TopicNotFoundError
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.topic import Namespace, TopicName


def schema_command(topic: TopicName, version: bytes | None) -> wire.BaseCommand:
    request = wire.CommandGetSchema(request_id=0, topic=str(topic))
    if version is not None:
        request.schema_version = version
    return wire.BaseCommand(type=GET_SCHEMA, getSchema=request)


def reading_schema(topic: TopicName) -> str:
    return f"reading the schema of {topic}"


def schema_of(answer: Any, where: str) -> SchemaInfo | None:
    """None for a topic without one. Raises what the broker refused with."""
    if answer.HasField("error_code"):
        fault = server_error(answer.error_code, answer.error_message, where)
        if isinstance(fault, TopicNotFoundError):
            return None
        raise fault
    return SchemaInfo.from_wire(
        name=answer.schema.name,
        type_number=answer.schema.type,
        schema_data=answer.schema.schema_data,
        properties=[(each.key, each.value) for each in answer.schema.properties],
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


def listing_command(namespace: Namespace, digest: str | None) -> wire.BaseCommand:
    """`digest`: what the broker called the list that is known, so that an unchanged one is not sent again."""
    request = wire.CommandGetTopicsOfNamespace(request_id=0, namespace=str(namespace), mode=0)
    if digest:
        request.topics_hash = digest
    return wire.BaseCommand(type=GET_TOPICS_OF_NAMESPACE, getTopicsOfNamespace=request)


def listing_topics(namespace: Namespace) -> str:
    return f"listing the topics of {namespace}"
