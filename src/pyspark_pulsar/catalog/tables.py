"""Listing namespaces and tables, and loading a table for a query.

A role with only the right to consume from a topic can load the topic's table, because the broker shows this role the
topic's schema. The admin REST API is needed only for lists and for the key column of a table.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.comments import add_comments
from pyspark_pulsar.catalog.names import COLUMNS_TABLE, Table, parse_namespace, parse_table, tenant_of
from pyspark_pulsar.catalog.properties.table_properties import key_column
from pyspark_pulsar.catalog.system_tables import SCHEMAS, with_tables
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import NamespaceNotFoundError, PermissionDenied, TopicNotFoundError
from pyspark_pulsar.history.columnar.tier_note import TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.options.values.read_from import COLUMNS
from pyspark_pulsar.read.bounds.schema import schema_of_topics
from pyspark_pulsar.read.planning.tables.topic_notes import check_note, fetch_note
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.schema.types.spark import spark_schema

Properties = dict[str, str]

_SYSTEM_TENANT: Final = "pulsar"
# Pulsar itself uses these namespaces; `public/functions` is the default of its functions worker.
_SYSTEM_NAMESPACES: Final = frozenset({Namespace("pulsar", "system"), Namespace("public", "functions")})

_log: Final = logging.getLogger(__name__)


def list_namespaces(cluster: Cluster, parent: Sequence[str]) -> list[list[str]]:
    """List the namespaces of all shown tenants, or of one tenant.

    The setting `tenants` selects the shown tenants. Without this setting, all tenants are shown. If the role is not
    allowed to list tenants, only the tenant of the default namespace is shown. If the role is not allowed to list the
    namespaces of that tenant, only the default namespace is shown.

    Args:
        cluster: The cluster of the catalog.
        parent: `[]` for all shown tenants, or `["tenant"]`. The result for a namespace is empty.

    Raises:
        NamespaceNotFoundError: The tenant does not exist.
        PermissionDenied: The role is not allowed to list the namespaces of the tenant in `parent`.

    """
    if not parent:
        return [
            [namespace.tenant, namespace.name]
            for namespace in _namespaces_of_tenants(cluster, _shown_tenants(cluster))
        ]
    tenant = tenant_of(parent)
    if tenant is None:
        parse_namespace(parent)
        return []
    return [
        [namespace.tenant, namespace.name]
        for namespace in _without_system_namespaces(cluster, _namespaces_of_tenant(cluster, tenant))
    ]


def list_tables(cluster: Cluster, namespace: Sequence[str]) -> list[str]:
    """List the names of the tables in a namespace, sorted. A table is a topic; system tables are left out.

    If `namespace` is only a tenant, the list is empty. Without `admin.url`, or if the role is not allowed to list
    topics, the broker returns the list instead of the admin REST API. The broker lists only persistent topics. The
    broker lists a partitioned topic only if a client has used at least one partition. The broker does not report that a
    namespace does not exist.

    Raises:
        NamespaceNotFoundError: The namespace does not exist.

    """
    if tenant_of(namespace) is not None:
        require_tenant(cluster, namespace[0])
        return []
    where = parse_namespace(namespace)
    try:
        topics = _topics(cluster, where)
    except PermissionDenied as fault:
        _log.info(
            "Listing topics through the broker, because the admin REST API refused (%s): %s", fault, where
        )
        topics = _topics_by_broker(cluster, where)
    return sorted(Table(topic).name for topic in topics)


def load_table(cluster: Cluster, namespace: Sequence[str], table: str) -> dict[str, Any]:
    """Return the schema and options with which Spark queries a table. The catalog's protocol describes the members.

    Raises:
        TopicNotFoundError: The topic does not exist.
        SchemaError: The schema cannot be read.
        ConnectionFailed: The broker or the admin REST API cannot be reached. The call fails even if only the admin REST
            API is unreachable, because the key column would be missing without a warning.

    """
    named = parse_table(namespace, table)
    if named.system == COLUMNS_TABLE:
        return _columns_table(cluster, named)
    if named.system is not None:
        require_topic(cluster, named.topic)
        return {"system": named.system, "schema": _json(SCHEMAS[named.system])}
    answer = _submit_own_properties(cluster, named.topic)
    resolved = read_schema(cluster, named.topic)
    properties = {} if answer is None else _shown_properties(answer)
    settings, key = cluster.settings, key_column(properties)
    return {
        "topic": str(named.topic),
        "schema": add_comments(_json(resolved.value_columns), resolved.info),
        "metadata": _metadata(cluster, resolved),
        "writable": _writable(),
        "read_options": settings.read_options(named.topic),
        "write_options": settings.write_options(named.topic, key),
        "comment": properties.get("comment"),
    }


def _columns_table(cluster: Cluster, named: Table) -> dict[str, Any]:
    """Return the schema and options with which Spark queries only the topic's table.

    Messages after the end of the table are not read. Raises the errors of `TopicTables`, and the errors below.

    Raises:
        TopicNotFoundError: The topic does not exist, or has no table.
        CatalogUnsupported: The setting `tierCatalog` is missing.
        TierMismatch: The topic was tiered to another table.

    """
    options = with_tables(cluster, named.topic)
    resolved = read_schema(cluster, named.topic)
    tables = TopicTables(options)
    if tables.load(named.topic) is None:
        check_note(named.topic, _shown_note(cluster, named.topic), tables, None)
        raise TopicNotFoundError(
            f"topic {named.topic}: expected a table of its columns, got none; tier the topic first"
        )
    return {
        "topic": str(named.topic),
        "schema": add_comments(_json(resolved.value_columns), resolved.info),
        "metadata": _metadata(cluster, resolved),
        "writable": _json(pa.schema([])),
        "read_options": {**cluster.settings.read_options(named.topic), "readFrom": COLUMNS},
        "write_options": {},
        "comment": None,
        "fixed": ["readFrom"],
        "read_only": True,
    }


def read_schema(cluster: Cluster, topic: TopicName) -> ReadSchema:
    """Return the topic's schema for a query with the catalog's settings.

    Raises:
        TopicNotFoundError: The topic does not exist.
        SchemaError: The schema cannot be read.

    """
    options = cluster.settings.connection
    return schema_of_topics(cluster.client, [topic], options, read_descriptor_file(options))


def require_topic(cluster: Cluster, topic: TopicName) -> int:
    """Return the topic's number of partitions; 0 if the topic has none. Raises `TopicNotFoundError`."""
    return cluster.client.partition_count(topic)


def require_tenant(cluster: Cluster, tenant: str) -> None:
    """Raise `NamespaceNotFoundError` if the tenant does not exist.

    If the role is not allowed to query the tenant, no error is raised.
    """
    try:
        exists = not cluster.has_admin or cluster.admin.tenants.exists(tenant)
    except PermissionDenied:
        return
    if not exists:
        raise _no_tenant(tenant)


def _shown_tenants(cluster: Cluster) -> tuple[str, ...]:
    settings = cluster.settings
    if settings.tenants is not None:
        return settings.tenants
    if cluster.has_admin:
        try:
            tenants = cluster.admin.tenants.names()
            return tuple(tenant for tenant in tenants if settings.system_topics or tenant != _SYSTEM_TENANT)
        except PermissionDenied as fault:
            _log.info(
                "Showing only the tenant of the default namespace, because tenants cannot be listed: %s",
                fault,
            )
    return (settings.default_namespace.tenant,)


def _namespaces_of_tenants(cluster: Cluster, tenants: Sequence[str]) -> list[Namespace]:
    """Return the namespaces of several tenants, with concurrent requests.

    If the namespaces of a tenant cannot be listed, the tenant is left out.
    """

    def namespaces_or_none(tenant: str) -> list[Namespace]:
        try:
            return _namespaces_of_tenant(cluster, tenant)
        except (PermissionDenied, NamespaceNotFoundError) as fault:
            _log.warning(
                "Leaving out the namespaces of a tenant, because listing them failed (%s): %s", fault, tenant
            )
            return []

    if cluster.has_admin:
        _ = cluster.admin  # Creating the client is not safe in several threads.
    lists = cluster.threads.map(namespaces_or_none, tenants)
    return _without_system_namespaces(
        cluster, [namespace for namespaces in lists for namespace in namespaces]
    )


def _namespaces_of_tenant(cluster: Cluster, tenant: str) -> list[Namespace]:
    default = cluster.settings.default_namespace
    if not cluster.has_admin:
        return [default] if tenant == default.tenant else []
    try:
        return list(cluster.admin.namespaces.of_tenant(tenant))
    except PermissionDenied:
        if tenant != default.tenant:
            raise
        return [default]
    except TopicNotFoundError:
        raise _no_tenant(tenant) from None


def _without_system_namespaces(cluster: Cluster, namespaces: Sequence[Namespace]) -> list[Namespace]:
    all_of_them = cluster.settings.system_topics
    return sorted(
        {namespace for namespace in namespaces if all_of_them or namespace not in _SYSTEM_NAMESPACES}
    )


def _no_tenant(tenant: str) -> NamespaceNotFoundError:
    return NamespaceNotFoundError(
        f"tenant {tenant!r}: expected a tenant that exists, got none; correct the name"
    )


def _topics(cluster: Cluster, namespace: Namespace) -> frozenset[TopicName]:
    if not cluster.has_admin:
        return _topics_by_broker(cluster, namespace)
    return cluster.admin.topics.of_namespace(namespace, system=cluster.settings.system_topics)


def _topics_by_broker(cluster: Cluster, namespace: Namespace) -> frozenset[TopicName]:
    client, with_system = cluster.client, cluster.settings.system_topics
    listing = client.listings({namespace: None})[namespace]
    names = {topic for topic in listing.names if with_system or not topic.is_system}
    wholes = {topic.without_partition() for topic in names} - names
    # A topic without partitions may also have a name with the suffix of a partition.
    partitioned = {topic for topic, count in client.present_partitions(wholes).items() if count}
    return frozenset(
        topic.without_partition() if topic.without_partition() in partitioned else topic for topic in names
    )


def own_properties(admin: AdminClient, topic: TopicName) -> Properties:
    """Return the properties that Pulsar stores for a topic.

    A partition has no properties, so the call returns the properties of its partitioned topic.

    Raises:
        TopicNotFoundError: The topic does not exist.

    """
    whole = topic.without_partition()
    try:
        return admin.topics.properties(whole)
    except TopicNotFoundError:
        if whole == topic:
            raise
        # A producer can create a topic without partitions whose name has the suffix of a partition.
        return admin.topics.properties(topic)


def _submit_own_properties(cluster: Cluster, topic: TopicName) -> Future[Properties] | None:
    """Start the request for the topic's properties, so that the schema can be requested at the same time.

    Returns:
        The future of the properties; None if there is no `admin.url` or the topic is not persistent.

    """
    if not cluster.has_admin or not topic.is_persistent:
        return None
    return cluster.threads.submit(own_properties, cluster.brief_admin, topic)


def _shown_properties(answer: Future[Properties]) -> Properties:
    try:
        return answer.result()
    except (PermissionDenied, TopicNotFoundError) as fault:
        _log.info(
            "Loading a table without its comment and key column, because reading them failed: %s", fault
        )
        return {}


def _shown_note(cluster: Cluster, topic: TopicName) -> TierNote | None:
    try:
        return fetch_note(cluster.brief_admin, topic)
    except PermissionDenied as fault:
        _log.info("Loading a topic without the note that names the topic's table (%s): %s", fault, topic)
        return None


def _metadata(cluster: Cluster, resolved: ReadSchema) -> Any:
    """Return all metadata columns. With `mode=PERMISSIVE`, add the column for the bytes of bad rows."""
    corrupt = resolved.corrupt_column
    if cluster.settings.connection.mode != "PERMISSIVE" or corrupt is None:
        return _all_metadata()
    return _json(pa.schema([*metadata_columns.FIELDS.values(), pa.field(corrupt, pa.binary())]))


@cache
def _all_metadata() -> Any:
    return _json(pa.schema(list(metadata_columns.FIELDS.values())))


@cache
def _writable() -> Any:
    return _json(pa.schema([metadata_columns.WRITABLE[name] for name in metadata_columns.WRITTEN]))


def _json(schema: pa.Schema) -> Any:
    return spark_schema(schema).jsonValue()
