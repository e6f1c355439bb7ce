"""What DESCRIBE EXTENDED and SHOW CREATE TABLE show of a table: as much of it as the role may see. No secrets."""

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
    """Those that CREATE TABLE takes, and such as begin with `pulsar.`, which it ignores.

    What the role may not see is left out, and without `admin.url` all that only the admin REST API knows. Raises
    `TopicNotFoundError`.
    """
    named = parse_table(namespace, table)
    topic = named.topic
    partitions = require_topic(cluster, topic)
    if named.system is not None:
        return {"pulsar.topic": str(topic)}
    properties = {"partitions": str(partitions)}
    if cluster.has_admin:
        admin = cluster.admin
        stored = cluster.threads.submit(_stored, admin, topic, partitions)
        stats = cluster.threads.submit(admin.topics.stats, topic, partitions)
        properties |= _of_schema(cluster, topic)
        properties |= stored.result()
        try:
            properties |= _of_stats(stats.result())
        except PulsarError as fault:
            _log.info("without the statistics of %s: %s", topic, fault)
    else:
        properties |= _of_schema(cluster, topic)
    return properties | {"pulsar.topic": str(topic)}


def version_number(version: bytes) -> str:
    """Pulsar's own registry counts versions; those of another are shown as they are."""
    is_count = len(version) == VERSION_BYTES
    return str(int.from_bytes(version, "big", signed=True)) if is_count else version.hex()


def _stored(admin: AdminClient, topic: TopicName, partitions: int) -> Properties:
    """Where policies are refused, those properties that are the topic's own. Servers that keep no policies of topics,
    and topics that keep nothing, refuse the question itself."""
    refusals = (PermissionDenied, ProtocolError, TopicNotFoundError)
    try:
        return stored_properties(admin, topic, partitions)
    except refusals as fault:
        _log.info("without the policies of %s: %s", topic, fault)
    try:
        own = own_properties(admin, topic)
    except refusals as fault:
        _log.info("without the properties of %s: %s", topic, fault)
        return {}
    column = key_column(own)
    key = {} if column is None else {"key_column": column}
    return key | {name: value for name, value in own.items() if not name.startswith(OWN_PREFIX)}


def _of_schema(cluster: Cluster, topic: TopicName) -> Properties:
    info = cluster.client.schema(topic.without_partition())
    return {**format_properties(info), **_read_only(info)}


def _read_only(info: SchemaInfo | None) -> Properties:
    if info is None:
        return {}
    version = {} if info.version is None else {"pulsar.schema.version": version_number(info.version)}
    return {"pulsar.schema.type": info.type.name, **version}


def _of_stats(stats: Mapping[str, Any]) -> Properties:
    """The backlog is that of the subscription that is farthest behind."""
    subscriptions = stats.get("subscriptions") or {}
    backlogs = [int(subscription.get("msgBacklog", 0)) for subscription in subscriptions.values()]
    return {
        "pulsar.backlog.messages": str(max(backlogs, default=0)),
        "pulsar.backlog.bytes": str(stats.get("backlogSize", 0)),
        "pulsar.storage.bytes": str(stats.get("storageSize", 0)),
        "pulsar.subscriptions": ", ".join(sorted(subscriptions)),
    }
