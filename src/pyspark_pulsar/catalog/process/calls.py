"""The calls that the JVM can make, by name. The catalog's protocol defines the arguments.

Modules for statements that change tables are imported on demand, because most processes only load tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark_pulsar.catalog import partitions, system_tables, tables
from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.names import Table, parse_namespace, parse_table, tenant_of
from pyspark_pulsar.catalog.statements import describe_table
from pyspark_pulsar.errors import CatalogUnsupported, PermissionDenied, TopicNameError
from pyspark_pulsar.model.topic import TopicName


def _load_namespace(cluster: Cluster, namespace: Sequence[str]) -> dict[str, str]:
    """Return the properties of a namespace.

    The result is empty if `namespace` is only a tenant, or if the role is not allowed to see the properties. Without
    `admin.url`, the result is also empty.
    """
    from pyspark_pulsar.catalog.statements import namespaces

    if tenant_of(namespace) is not None:
        tables.require_tenant(cluster, namespace[0])
        return {}
    where = parse_namespace(namespace)
    if not cluster.has_admin:
        return {}
    try:
        return namespaces.load_namespace(cluster.admin, where)
    except PermissionDenied:
        return {}


def _create_namespace(cluster: Cluster, namespace: Sequence[str], properties: Mapping[str, str]) -> None:
    from pyspark_pulsar.catalog.statements import namespaces

    namespaces.create_namespace(cluster.admin, parse_namespace(namespace), properties)


def _alter_namespace(cluster: Cluster, namespace: Sequence[str], **changes: Any) -> None:
    from pyspark_pulsar.catalog.statements import namespaces

    where = parse_namespace(namespace)
    namespaces.alter_namespace(cluster.admin, where, changes["set"], changes["remove"])


def _drop_namespace(cluster: Cluster, namespace: Sequence[str], cascade: Any) -> bool:
    from pyspark_pulsar.catalog.statements import namespaces

    where = parse_namespace(namespace)
    return namespaces.drop_namespace(cluster.admin, where, cascade=bool(cascade))


def _create_table(
    cluster: Cluster,
    namespace: Sequence[str],
    table: str,
    schema: Mapping[str, Any],
    properties: Mapping[str, str],
    partitioning: Sequence[str],
) -> None:
    from pyspark_pulsar.catalog.statements import create_table

    topic = _topic(parse_table(namespace, table), "created")
    options = cluster.settings.write
    create_table.create_table(cluster.admin, topic, schema, properties, partitioning, options)


def _alter_table(
    cluster: Cluster, namespace: Sequence[str], table: str, changes: Sequence[Mapping[str, Any]]
) -> None:
    from pyspark_pulsar.catalog.statements import alter_table

    topic = _topic(parse_table(namespace, table), "changed")
    alter_table.alter_table(cluster.admin, topic, changes)


def _drop_table(cluster: Cluster, namespace: Sequence[str], table: str) -> bool:
    from pyspark_pulsar.catalog.statements import drop_table

    try:
        named = parse_table(namespace, table)
    except TopicNameError:
        return False
    return drop_table.drop_table(cluster.admin, _topic(named, "dropped"))


def _tier_scan(cluster: Cluster, options: Mapping[str, str], columns: Mapping[str, Any]) -> dict[str, Any]:
    from pyspark_pulsar.catalog.scan.tier_scan import tier_scan

    return tier_scan(cluster, options, columns)


def _load_changelog(cluster: Cluster, **named: Any) -> dict[str, Any]:
    from pyspark_pulsar.catalog.changelog import load_changelog

    return load_changelog(cluster, **named)


def _list_procedures(cluster: Cluster, **named: Any) -> list[str]:
    from pyspark_pulsar.catalog.procedures import procedure_calls

    return procedure_calls.list_procedures(cluster, **named)


def _load_procedure(cluster: Cluster, **named: Any) -> dict[str, Any]:
    from pyspark_pulsar.catalog.procedures import procedure_calls

    return procedure_calls.load_procedure(cluster, **named)


def _call_procedure(cluster: Cluster, **named: Any) -> dict[str, Any]:
    from pyspark_pulsar.catalog.procedures import procedure_calls

    return procedure_calls.call_procedure(cluster, **named)


def _follow_procedure(cluster: Cluster, **named: Any) -> dict[str, Any]:
    from pyspark_pulsar.catalog.procedures import procedure_calls

    return procedure_calls.follow_procedure(cluster, **named)


def _topic(named: Table, action: str) -> TopicName:
    """Return the topic of a table. Raises `CatalogUnsupported` if the table is a system table."""
    if named.system is not None:
        raise CatalogUnsupported(
            f"table {named.name}: expected a topic to be {action}, got a system table, which is read-only; if "
            f"a topic has this name, use the table {Table(_topic_of_same_name(named)).name}"
        )
    return named.topic


def _topic_of_same_name(named: Table) -> TopicName:
    return TopicName(named.topic.domain, named.topic.namespace, f"{named.topic.local}${named.system}")


CALLS: Final[Mapping[str, Callable[..., Any]]] = {
    "list_namespaces": tables.list_namespaces,
    "load_namespace": _load_namespace,
    "create_namespace": _create_namespace,
    "alter_namespace": _alter_namespace,
    "drop_namespace": _drop_namespace,
    "list_tables": tables.list_tables,
    "load_table": tables.load_table,
    "table_properties": describe_table.table_properties,
    "rows": system_tables.rows,
    "tier_scan": _tier_scan,
    "create_table": _create_table,
    "alter_table": _alter_table,
    "drop_table": _drop_table,
    "load_changelog": _load_changelog,
    "partitions": partitions.partitions,
    "load_partition": partitions.load_partition,
    "list_procedures": _list_procedures,
    "load_procedure": _load_procedure,
    "call_procedure": _call_procedure,
    "follow_procedure": _follow_procedure,
}
"""The functions by the name of the call.

Each function accepts the cluster and the arguments of the call, and returns the `result` of the protocol.
"""
