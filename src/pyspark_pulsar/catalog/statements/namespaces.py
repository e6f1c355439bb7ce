"""The statements CREATE, ALTER and DROP NAMESPACE, and the properties for DESCRIBE NAMESPACE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark_pulsar.catalog.properties import retention
from pyspark_pulsar.catalog.properties.retention import RETENTION_PROPERTIES, apply_retention
from pyspark_pulsar.catalog.properties.spelling import refuse_misspelling
from pyspark_pulsar.catalog.properties.units import printed_duration, printed_retention, ttl_seconds
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import CatalogUnsupported, NamespaceNotEmptyError, PermissionDenied, PulsarError
from pyspark_pulsar.model.topic import Namespace, TopicName

_TTL: Final = "message_ttl"
_QUOTA: Final = "backlog_quota"
_POLICIES: Final = (*RETENTION_PROPERTIES, _TTL)
_LOCATION, _OWNER = "location", "owner"


def load_namespace(admin: AdminClient, namespace: Namespace) -> dict[str, str]:
    """Return the properties and policies that are set for a namespace.

    Values that the role is not allowed to see are left out.

    Raises:
        NamespaceNotFoundError: The namespace does not exist.

    """
    properties: dict[str, str] = {}
    try:
        properties |= admin.namespaces.properties(namespace)
        properties |= _print_policies(admin.namespaces.policies(namespace))
    except PermissionDenied:
        if not admin.namespaces.exists(namespace):
            raise
    return properties


def create_namespace(admin: AdminClient, namespace: Namespace, properties: Mapping[str, str]) -> None:
    """Create a namespace with its properties. If setting the properties fails, delete the namespace again.

    Raises:
        NamespaceExistsError: The namespace exists already.
        NamespaceNotFoundError: The tenant does not exist.

    """
    properties = {key: value for key, value in properties.items() if key != _OWNER}
    _check(properties)
    admin.namespaces.create(namespace)
    try:
        _change(admin, namespace, properties, ())
    except PulsarError:
        admin.namespaces.delete(namespace)
        raise


def alter_namespace(
    admin: AdminClient, namespace: Namespace, changed: Mapping[str, str], removed: Sequence[str]
) -> None:
    """Set and remove properties of a namespace.

    Raises:
        NamespaceNotFoundError: The namespace does not exist.
        OptionError: A value is invalid.

    """
    properties = {key: value for key, value in changed.items() if key != _OWNER}
    _check(properties)
    _change(admin, namespace, properties, removed)


def drop_namespace(admin: AdminClient, namespace: Namespace, *, cascade: bool) -> bool:
    """Delete a namespace. With `cascade`, first delete its topics, because brokers delete only empty namespaces.

    Returns:
        False if the namespace does not exist.

    Raises:
        NamespaceNotEmptyError: `cascade` is False, and the namespace has topics that Pulsar does not reserve for
            itself.

    """
    if not admin.namespaces.exists(namespace):
        return False
    topics = admin.topics.of_namespace(namespace)
    if topics and not cascade:
        raise NamespaceNotEmptyError(
            f"namespace {namespace}: expected no topics, got {len(topics)} topic{'s' if len(topics) > 1 else ''}; "
            "drop its tables, or add CASCADE"
        )

    def drop(topic: TopicName) -> PulsarError | None:
        try:
            admin.topics.delete(topic, partitioned=bool(admin.topics.partitions(topic)))
        except PulsarError as fault:
            return fault
        return None

    # If one topic cannot be dropped, the call still drops all other topics before it raises the error.
    for fault in map_concurrently(drop, sorted(topics)):
        if fault is not None:
            raise fault
    admin.namespaces.delete(namespace)
    return True


def _print_policies(policies: Mapping[str, Any]) -> dict[str, str]:
    properties: dict[str, str] = {}
    kept = retention.parse_policy(policies.get("retention_policies"))
    if kept is not None:
        properties |= printed_retention(kept.minutes, kept.megabytes)
    ttl = policies.get("message_ttl_in_seconds")
    if ttl is not None:
        properties[_TTL] = printed_duration(int(ttl))
    for kind, quota in sorted((policies.get("backlog_quota_map") or {}).items()):
        limits = {key: value for key, value in sorted(quota.items()) if value not in (None, -1)}
        properties[f"{_QUOTA}.{kind}"] = ", ".join(f"{key} {value}" for key, value in limits.items())
    return properties


def _check(properties: Mapping[str, str]) -> None:
    if _LOCATION in properties:
        raise CatalogUnsupported(
            f"property '{_LOCATION}': expected no location, because Pulsar stores the messages of a namespace, got "
            f"{properties[_LOCATION]!r}; remove the property"
        )
    for key in properties:
        _refuse_quota(key)
        refuse_misspelling(key, _POLICIES)
    retention.change_retention(None, properties)
    if _TTL in properties:
        ttl_seconds(_TTL, properties[_TTL])


def _refuse_quota(key: str) -> None:
    if key.startswith(_QUOTA):
        raise CatalogUnsupported(
            f"property '{key}': expected retention_time, retention_size, message_ttl or a property of your own, got a "
            "backlog quota, which is read-only; set it with pulsar-admin namespaces set-backlog-quota"
        )


def _change(
    admin: AdminClient,
    namespace: Namespace,
    properties: Mapping[str, str],
    removed: Sequence[str],
) -> None:
    for key in removed:
        _refuse_quota(key)
    if set(RETENTION_PROPERTIES) & {*properties, *removed}:
        before = retention.parse_policy(admin.policies.own(namespace, "retention"))
        apply_retention(admin, namespace, retention.change_retention(before, properties, removed))
    if _TTL in properties:
        admin.policies.set_message_ttl(namespace, ttl_seconds(_TTL, properties[_TTL]))
    elif _TTL in removed:
        admin.policies.remove_message_ttl(namespace)
    for key, value in properties.items():
        if key not in _POLICIES:
            admin.namespaces.set_property(namespace, key, value)
    for key in removed:
        if key not in (*_POLICIES, *properties):
            admin.namespaces.remove_property(namespace, key)
