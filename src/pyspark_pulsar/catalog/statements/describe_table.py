"""The properties of a table for DESCRIBE EXTENDED and SHOW CREATE TABLE. No property contains a secret."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.names import parse_table
from pyspark_pulsar.catalog.properties.table_properties import (
    OWN_PREFIX,
    format_properties,
    key_column,
    stored_properties,
)
from pyspark_pulsar.catalog.tables import Properties, own_properties, require_topic
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PermissionDenied, ProtocolError, PulsarError, TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo

_log: Final = logging.getLogger(__name__)


def table_properties(cluster: Cluster, namespace: Sequence[str], table: str) -> Properties:
    """Return the properties of a table: properties for CREATE TABLE, and read-only properties (`pulsar.*`).

    CREATE TABLE ignores the read-only properties. Properties that the role is not allowed to see are left out. Without
    `admin.url`, all properties from the admin REST API are left out.

    Raises:
        TopicNotFoundError: The topic does not exist.

    """
    named = parse_table(namespace, table)
    topic = named.topic
    partitions = require_topic(cluster, topic)
    if named.system is not None:
        return {"pulsar.topic": str(topic)}
    properties = {"partitions": str(partitions)}
    if cluster.has_admin:
        admin = cluster.admin
        stored = cluster.threads.submit(_topic_properties, admin, topic, partitions)
        stats = cluster.threads.submit(admin.topics.stats, topic, partitions)
        properties |= _schema_properties(cluster, topic)
        properties |= stored.result()
        try:
            properties |= _statistics_properties(stats.result())
        except PulsarError as fault:
            _log.info("Describing a topic without its statistics (%s): %s", fault, topic)
    else:
        properties |= _schema_properties(cluster, topic)
    return properties | {"pulsar.topic": str(topic)}


def version_number(version: bytes) -> str:
    """Format a schema version. Versions of Pulsar's registry are numbers; other versions are hexadecimal digits."""
    is_count = len(version) == VERSION_BYTES
    return str(int.from_bytes(version, "big", signed=True)) if is_count else version.hex()


def _topic_properties(admin: AdminClient, topic: TopicName, partitions: int) -> Properties:
    """Return the topic's properties and policies. If the server refuses policies, return only the properties.

    Servers without topic policies refuse all requests for policies. For non-persistent topics, every server refuses
    requests for policies.
    """
    refusals = (PermissionDenied, ProtocolError, TopicNotFoundError)
    try:
        return stored_properties(admin, topic, partitions)
    except refusals as fault:
        _log.info("Describing a topic without its policies (%s): %s", fault, topic)
    try:
        own = own_properties(admin, topic)
    except refusals as fault:
        _log.info("Describing a topic without its properties (%s): %s", fault, topic)
        return {}
    column = key_column(own)
    key = {} if column is None else {"key_column": column}
    return key | {name: value for name, value in own.items() if not name.startswith(OWN_PREFIX)}


def _schema_properties(cluster: Cluster, topic: TopicName) -> Properties:
    info = cluster.client.schema(topic.without_partition())
    return {**format_properties(info), **_read_only(info)}


def _read_only(info: SchemaInfo | None) -> Properties:
    if info is None:
        return {}
    version = {} if info.version is None else {"pulsar.schema.version": version_number(info.version)}
    return {"pulsar.schema.type": info.type.name, **version}


def _statistics_properties(stats: Mapping[str, Any]) -> Properties:
    """Return the statistics as properties. `pulsar.backlog.messages` is the largest backlog of all subscriptions."""
    subscriptions = stats.get("subscriptions") or {}
    backlogs = [int(subscription.get("msgBacklog", 0)) for subscription in subscriptions.values()]
    return {
        "pulsar.backlog.messages": str(max(backlogs, default=0)),
        "pulsar.backlog.bytes": str(stats.get("backlogSize", 0)),
        "pulsar.storage.bytes": str(stats.get("storageSize", 0)),
        "pulsar.subscriptions": ", ".join(sorted(subscriptions)),
    }
