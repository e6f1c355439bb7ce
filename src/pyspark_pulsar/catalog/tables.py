"""Which namespaces and tables there are, and what Spark needs to know of a table to query it.

A role that may only consume a topic can load it: existence and schema come from the broker. The admin REST API adds
lists, and the key column of a table.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.comments import commented
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
# What Pulsar's functions worker keeps for itself, by its default settings.
_SYSTEM_NAMESPACES: Final = frozenset({Namespace("pulsar", "system"), Namespace("public", "functions")})

_log: Final = logging.getLogger(__name__)


def list_namespaces(cluster: Cluster, parent: Sequence[str]) -> list[list[str]]:
    """Of all tenants that are shown, or of one (`parent` is `["tenant"]`); a namespace holds no others.

    A role that may list no tenants sees those of setting `tenants`, else that of the default namespace; of a tenant
    whose namespaces it may not list it sees the default namespace. Raises `NamespaceNotFoundError` for a tenant that is
    not there, `PermissionDenied` for one by name whose namespaces are not shown.
    """
    if not parent:
        return [
            [namespace.tenant, namespace.name] for namespace in _of_tenants(cluster, _shown_tenants(cluster))
        ]
    tenant = tenant_of(parent)
    if tenant is None:
        parse_namespace(parent)
        return []
    return [[namespace.tenant, namespace.name] for namespace in _shown(cluster, _of_tenant(cluster, tenant))]


def list_tables(cluster: Cluster, namespace: Sequence[str]) -> list[str]:
    """Names of topics, sorted; no partitions and no system tables. A tenant alone has none.

    Without `admin.url` or the right to list over it the broker is asked, which knows persistent topics only, of those
    with partitions such as were in use, and not whether there is such a namespace. Raises `NamespaceNotFoundError`.
    """
    if tenant_of(namespace) is not None:
        require_tenant(cluster, namespace[0])
        return []
    where = parse_namespace(namespace)
    try:
        topics = _topics(cluster, where)
    except PermissionDenied as fault:
        _log.info("the topics of %s are listed by the broker: %s", where, fault)
        topics = _topics_by_broker(cluster, where)
    return sorted(Table(topic).name for topic in topics)


def load_table(cluster: Cluster, namespace: Sequence[str], table: str) -> dict[str, Any]:
    """What Spark needs for a query: docs of the catalog's protocol say what is in it. Raises `TopicNotFoundError`,
    `SchemaError` for a schema that cannot be read; `ConnectionFailed` also where there is an `admin.url` that cannot
    be reached, since the key column would be forgotten in silence."""
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
        "schema": commented(_json(resolved.value_columns), resolved.info),
        "metadata": _metadata(cluster, resolved),
        "writable": _writable(),
        "read_options": settings.read_options(named.topic),
        "write_options": settings.write_options(named.topic, key),
        "comment": properties.get("comment"),
    }


def _columns_table(cluster: Cluster, named: Table) -> dict[str, Any]:
    """The topic as its table holds it. Raises `TopicNotFoundError` also where it has none, `CatalogUnsupported`, and
    the errors of `TopicTables`, and `TierMismatch` where the topic was tiered to another table."""
    options = with_tables(cluster, named.topic)
    resolved = read_schema(cluster, named.topic)
    tables = TopicTables(options)
    if tables.load(named.topic) is None:
        check_note(named.topic, _shown_note(cluster, named.topic), tables, None)
        raise TopicNotFoundError(
            f"topic {named.topic}: expected a table of its columns, got none; tier it first"
        )
    return {
        "topic": str(named.topic),
        "schema": commented(_json(resolved.value_columns), resolved.info),
        "metadata": _metadata(cluster, resolved),
        "writable": _json(pa.schema([])),
        "read_options": {**cluster.settings.read_options(named.topic), "readFrom": COLUMNS},
        "write_options": {},
        "comment": None,
        "fixed": ["readFrom"],
        "read_only": True,
    }


def read_schema(cluster: Cluster, topic: TopicName) -> ReadSchema:
    """As a query reads the topic by the catalog's settings. Raises `TopicNotFoundError`, `SchemaError`."""
    options = cluster.settings.connection
    return schema_of_topics(cluster.client, [topic], options, read_descriptor_file(options))


def require_topic(cluster: Cluster, topic: TopicName) -> int:
    """How many partitions it has, 0 for one that is not partitioned. Raises `TopicNotFoundError`."""
    return cluster.client.partition_count(topic)


def require_tenant(cluster: Cluster, tenant: str) -> None:
    """Raises `NamespaceNotFoundError` for a tenant that is not there, as far as this role may know it."""
    try:
        is_there = not cluster.has_admin or cluster.admin.tenants.exists(tenant)
    except PermissionDenied:
        return
    if not is_there:
        raise _no_tenant(tenant)


# Namespaces


def _shown_tenants(cluster: Cluster) -> tuple[str, ...]:
    settings = cluster.settings
    if settings.tenants is not None:
        return settings.tenants
    if cluster.has_admin:
        try:
            tenants = cluster.admin.tenants.names()
            return tuple(tenant for tenant in tenants if settings.system_topics or tenant != _SYSTEM_TENANT)
        except PermissionDenied as fault:
            _log.info("the tenants are not listed: %s", fault)
    return (settings.default_namespace.tenant,)


def _of_tenants(cluster: Cluster, tenants: Sequence[str]) -> list[Namespace]:
    """One question a tenant, some at a time; what cannot be listed of one does not hide the others."""

    def of_tenant(tenant: str) -> list[Namespace]:
        try:
            return _of_tenant(cluster, tenant)
        except (PermissionDenied, NamespaceNotFoundError) as fault:
            _log.warning("the namespaces of tenant %s are not shown: %s", tenant, fault)
            return []

    if cluster.has_admin:
        _ = cluster.admin  # Made by one thread.
    lists = cluster.threads.map(of_tenant, tenants)
    return _shown(cluster, [namespace for namespaces in lists for namespace in namespaces])


def _of_tenant(cluster: Cluster, tenant: str) -> list[Namespace]:
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


def _shown(cluster: Cluster, namespaces: Sequence[Namespace]) -> list[Namespace]:
    all_of_them = cluster.settings.system_topics
    return sorted(
        {namespace for namespace in namespaces if all_of_them or namespace not in _SYSTEM_NAMESPACES}
    )


def _no_tenant(tenant: str) -> NamespaceNotFoundError:
    return NamespaceNotFoundError(f"tenant {tenant!r}: expected one that is there, got none; check the name")


# Topics


def _topics(cluster: Cluster, namespace: Namespace) -> frozenset[TopicName]:
    if not cluster.has_admin:
        return _topics_by_broker(cluster, namespace)
    return cluster.admin.topics.of_namespace(namespace, system=cluster.settings.system_topics)


def _topics_by_broker(cluster: Cluster, namespace: Namespace) -> frozenset[TopicName]:
    client, with_system = cluster.client, cluster.settings.system_topics
    listing = client.listings({namespace: None})[namespace]
    names = {topic for topic in listing.names if with_system or not topic.is_system}
    wholes = {topic.without_partition() for topic in names} - names
    # A name that looks like a partition's is one only where the topic has partitions.
    partitioned = {topic for topic, count in client.present_partitions(wholes).items() if count}
    return frozenset(
        topic.without_partition() if topic.without_partition() in partitioned else topic for topic in names
    )


# Tables


def own_properties(admin: AdminClient, topic: TopicName) -> Properties:
    """Those that Pulsar keeps for the topic; of a partition those of the whole. Raises `TopicNotFoundError`."""
    whole = topic.without_partition()
    try:
        return admin.topics.properties(whole)
    except TopicNotFoundError:
        if whole == topic:
            raise
        # Only called like a partition: producers can make such topics.
        return admin.topics.properties(topic)


def _submit_own_properties(cluster: Cluster, topic: TopicName) -> Future[Properties] | None:
    """Asked for while the broker is asked for the schema. None without `admin.url`, and of a non-persistent topic,
    which has none."""
    if not cluster.has_admin or not topic.is_persistent:
        return None
    return cluster.threads.submit(own_properties, cluster.brief_admin, topic)


def _shown_properties(answer: Future[Properties]) -> Properties:
    try:
        return answer.result()
    except (PermissionDenied, TopicNotFoundError) as fault:
        _log.info("without a comment and a key column: %s", fault)
        return {}


def _shown_note(cluster: Cluster, topic: TopicName) -> TierNote | None:
    try:
        return fetch_note(cluster.brief_admin, topic)
    except PermissionDenied as fault:
        _log.info("without the place of the table of %s: %s", topic, fault)
        return None


def _metadata(cluster: Cluster, resolved: ReadSchema) -> Any:
    """All that can be read, and the bytes of messages that do not decode where the settings show these."""
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
