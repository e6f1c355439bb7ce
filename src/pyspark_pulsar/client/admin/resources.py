"""Namespaces, topics, their policies and schemas over the admin REST API: what the catalog looks at and changes.

Source of the resources: Pulsar's admin API v2 (`Namespaces`, `PersistentTopics`, `Schemas`) of Pulsar 4.0.8.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.paths import (
    namespace_resource,
    resource,
    schema_resource,
    topic_resource,
    topics_resource,
)
from pyspark_pulsar.client.admin.schemas import (
    RegisteredSchema,
    schema_answered,
    schema_asked,
)
from pyspark_pulsar.client.topic_list import usable_topics
from pyspark_pulsar.errors import (
    CatalogUnsupported,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    OptionError,
    PermissionDenied,
    ProtocolError,
    SchemaError,
    TopicExistsError,
    TopicNotFoundError,
)
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.topic import Namespace, TopicName, TopicPartition

__all__ = ["RegisteredSchema", "ResourceClient"]

_BAD_REQUEST, _NOT_FOUND, _CONFLICT, _PRECONDITION_FAILED, _UNPROCESSABLE = 400, 404, 409, 412, 422
_SHOWN: Final = 600


class ResourceClient:
    """Driver only; safe to use from several threads. Raises the errors of `AdminClient` and those named."""

    def __init__(self, admin: AdminClient) -> None:
        self.admin = admin

    # Tenants and namespaces.

    def tenants(self) -> tuple[str, ...]:
        """Those that the role may list."""
        answer = self.admin.get(resource("tenants"), "listing the tenants")
        return tuple(sorted(_texts(answer, "listing the tenants")))

    def tenant_exists(self, tenant: str) -> bool:
        """Whether the tenant is there; a role that may not look at tenants asks for its namespaces."""
        for kind in ("tenants", "namespaces"):
            try:
                self.admin.get(resource(kind, tenant), f"looking for tenant {tenant}")
            except TopicNotFoundError:
                return False
            except PermissionDenied:
                if kind == "namespaces":
                    raise
            else:
                break
        return True

    def namespace_exists(self, namespace: Namespace) -> bool:
        """Whether the namespace is there; a role that may not look at its properties asks for its topics."""
        try:
            self.namespace_properties(namespace)
        except NamespaceNotFoundError:
            return False
        except PermissionDenied:
            try:
                self.topics(namespace)
            except NamespaceNotFoundError:
                return False
        return True

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        """The namespace's own. Raises `NamespaceNotFoundError`."""
        answer = self._of_namespace(namespace, f"reading the properties of {namespace}", "properties")
        return _text_map(answer, f"reading the properties of {namespace}")

    def namespace_policies(self, namespace: Namespace) -> dict[str, Any]:
        """All policies as the broker has them. Raises `NamespaceNotFoundError`."""
        where = f"reading the policies of {namespace}"
        return _object(self._of_namespace(namespace, where), where)

    def create_namespace(self, namespace: Namespace) -> None:
        """Raises `NamespaceExistsError`, and `NamespaceNotFoundError` without its tenant."""
        where = f"creating namespace {namespace}"
        told = (_CONFLICT, _NOT_FOUND)
        status = self.admin.change("PUT", namespace_resource(namespace), where, told=told).status
        if status == _CONFLICT:
            raise NamespaceExistsError(
                f"{where}: expected a new name, got one that exists; choose another, or say IF NOT EXISTS"
            )
        if status == _NOT_FOUND:
            raise NamespaceNotFoundError(
                f"{where}: expected an existing tenant, got {namespace.tenant}, which does not exist; let an "
                "administrator create it"
            )

    def delete_namespace(self, namespace: Namespace) -> None:
        """With the topics that Pulsar keeps in it for itself. Raises `NamespaceNotFoundError` and
        `NamespaceNotEmptyError`."""
        where = f"deleting namespace {namespace}"
        change = self.admin.change(
            "DELETE", namespace_resource(namespace), where, told=(_CONFLICT, _NOT_FOUND)
        )
        if change.status == _NOT_FOUND:
            raise _no_namespace(where)
        if change.status == _CONFLICT:
            raise NamespaceNotEmptyError(
                f"{where}: expected it empty, got {_reason(change.text)}; delete its topics, or say CASCADE"
            )

    def set_namespace_property(self, namespace: Namespace, key: str, value: str) -> None:
        where = f"setting property {key} of {namespace}"
        self._change_namespace("PUT", namespace_resource(namespace, "properties"), where, {key: value})

    def remove_namespace_property(self, namespace: Namespace, key: str) -> None:
        """One that is not there is no error."""
        where = f"removing property {key} of {namespace}"
        self._change_namespace("DELETE", namespace_resource(namespace, "property", key), where)

    # Policies. Minus one is infinite.

    def set_retention(self, where: Namespace | TopicName, minutes: int, megabytes: int) -> None:
        """How long, and how much, of acknowledged messages is kept: MiB; -1 is without limit, both 0 is nothing."""
        body = {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}
        self._set("POST", where, "retention", body)

    def remove_retention(self, where: Namespace | TopicName) -> None:
        """What is above it applies again: the namespace's, or the broker's."""
        self._set("DELETE", where, "retention")

    def set_message_ttl(self, where: Namespace | TopicName, seconds: int) -> None:
        """0 is none."""
        if isinstance(where, Namespace):
            self._set("POST", where, "messageTTL", seconds)
        else:
            self._set("POST", where, "messageTTL", messageTTL=str(seconds))

    def remove_message_ttl(self, where: Namespace | TopicName) -> None:
        self._set("DELETE", where, "messageTTL")

    def set_compaction_threshold(self, topic: TopicName, size: int) -> None:
        """Bytes of backlog at which the broker compacts the topic; 0 is never."""
        self._set("POST", topic, "compactionThreshold", size)

    def remove_compaction_threshold(self, topic: TopicName) -> None:
        self._set("DELETE", topic, "compactionThreshold")

    def applied_policy(self, topic: TopicName, name: str) -> Any:
        """What applies to the topic, as `AdminClient.policy`; None where nothing does."""
        return self.admin.policy(TopicPartition(topic, -1), name)

    def own_policy(self, where: Namespace | TopicName, name: str) -> Any:
        """What is set on the topic or namespace itself; None where nothing is."""
        return self.admin.get(_policy(where, name), f"reading the policy {name} of {where}")

    def _set(
        self, method: str, where: Namespace | TopicName, policy: str, body: Any = None, **query: str
    ) -> None:
        verb = "setting" if method == "POST" else "removing"
        doing = f"{verb} the policy {policy} of {where}"
        told = (_NOT_FOUND, _BAD_REQUEST, _PRECONDITION_FAILED)
        change = self.admin.change(method, _policy(where, policy, **query), doing, body, told=told)
        if change.status == _NOT_FOUND and isinstance(where, Namespace):
            raise _no_namespace(doing)
        if change.status == _NOT_FOUND:
            raise TopicNotFoundError(f"{doing}: expected one that exists, got none; check the name")
        if change.status in told:
            raise OptionError(
                f"{doing}: expected a value that the broker takes, got a refusal: {_reason(change.text)}; give another"
            )

    # Topics.

    def topics(self, namespace: Namespace, *, system: bool = False) -> frozenset[TopicName]:
        """All topics of both domains, without the partitions of partitioned ones, in three requests; with `system`
        those that Pulsar keeps for itself too. Raises `NamespaceNotFoundError`."""
        where = f"listing the topics of {namespace}"
        query = {"includeSystemTopic": "true" if system else "false"}
        names = _texts(self._of_namespace(namespace, where, "topics", mode="ALL", **query), where)
        partitioned: set[TopicName] = set()
        for domain in ("persistent", "non-persistent"):
            path = topics_resource(domain, namespace, "partitioned", **query)
            with_partitions = _texts(self._get_in_namespace(path, where), where)
            partitioned.update(usable_topics(with_partitions, namespace))
        single = usable_topics(names, namespace)
        found = partitioned.union(
            topic for topic in single if topic.partition < 0 or topic.without_partition() not in partitioned
        )
        return frozenset(topic for topic in found if system or not topic.is_system)

    def partitions(self, topic: TopicName) -> int | None:
        """How many partitions a topic has; 0 when it is not partitioned, None when there is no such topic."""
        where = f"looking for {topic}"
        try:
            answer = _object(self.admin.get(topic_resource(topic, "partitions"), where), where)
        except TopicNotFoundError:
            return None
        return int(answer.get("partitions", 0))

    def create_topic(self, topic: TopicName, partitions: int) -> None:
        """With so many partitions, or 0 for one that is not partitioned. Raises `TopicExistsError`,
        `NamespaceNotFoundError`."""
        where = f"creating {topic}"
        path, body = topic_resource(topic), None
        if partitions:
            path, body = topic_resource(topic, "partitions"), partitions
        status = self.admin.change("PUT", path, where, body, told=(_CONFLICT, _NOT_FOUND)).status
        if status == _CONFLICT:
            raise TopicExistsError(
                f"{where}: expected a new name, got one that exists; choose another, or say IF NOT EXISTS"
            )
        if status == _NOT_FOUND:
            raise _no_namespace(where)

    def set_partitions(self, topic: TopicName, count: int) -> None:
        """Raise the number of partitions of a partitioned topic; brokers refuse to lower it."""
        self.admin.change("POST", topic_resource(topic, "partitions"), f"adding partitions to {topic}", count)

    def delete_topic(self, topic: TopicName, *, partitioned: bool) -> bool:
        """With its partitions, subscriptions, policies and schemas; False when there is none. Raises
        `CatalogUnsupported` while clients use it."""
        where = f"deleting {topic}"
        path = topic_resource(topic, "partitions") if partitioned else topic_resource(topic)
        change = self.admin.change("DELETE", path, where, told=(_NOT_FOUND, _PRECONDITION_FAILED))
        if change.status == _PRECONDITION_FAILED:
            raise CatalogUnsupported(
                f"{where}: expected a topic that nobody uses, got {_reason(change.text)}; stop its producers and "
                "consumers first"
            )
        # Brokers (4.0.8) leave schemas of some topics behind, and another topic of that name would have them.
        if self.schema(topic) is not None:
            path = schema_resource(topic, "schema", force="true")
            self.admin.change("DELETE", path, where, told=(_NOT_FOUND,))
        return change.status != _NOT_FOUND

    def topic_properties(self, topic: TopicName) -> dict[str, str]:
        """Those of the topic's own; none of one that is not persistent, which cannot have any."""
        if not topic.is_persistent:
            return {}
        where = f"reading the properties of {topic}"
        return _text_map(self.admin.get(topic_resource(topic, "properties"), where), where)

    def set_topic_properties(self, topic: TopicName, properties: Mapping[str, str]) -> None:
        """Beside those that are there. Raises `TopicNotFoundError`."""
        self._must_exist(topic)
        where = f"setting properties of {topic}"
        self.admin.change("PUT", topic_resource(topic, "properties"), where, dict(properties))

    def remove_topic_property(self, topic: TopicName, key: str) -> None:
        """One that is not there is no error. Raises `TopicNotFoundError`."""
        self._must_exist(topic)
        path = topic_resource(topic, "properties", key=key)
        self.admin.change("DELETE", path, f"removing property {key} of {topic}")

    def stats(self, topic: TopicName, partitions: int) -> dict[str, Any]:
        """Of the whole topic; `partitions` as `partitions` says."""
        where = f"reading the statistics of {topic}"
        path = topic_resource(topic, "stats")
        if partitions:
            path = topic_resource(topic, "partitioned-stats", perPartition="false")
        return _object(self.admin.get(path, where), where)

    def _must_exist(self, topic: TopicName) -> None:
        # Brokers (4.0.8) never answer a change of properties of a topic that is not there.
        if self.partitions(topic) is None:
            raise TopicNotFoundError(f"topic {topic}: expected one that exists, got none; check the name")

    # Schemas.

    def schema(self, topic: TopicName) -> SchemaInfo | None:
        """The newest version; None without a schema."""
        where = f"reading the schema of {topic}"
        try:
            answer = self.admin.get(schema_resource(topic, "schema"), where)
        except TopicNotFoundError:
            return None
        return schema_answered(topic, _object(answer, where))

    def schema_versions(self, topic: TopicName) -> tuple[RegisteredSchema, ...]:
        """All versions, the oldest first, in one request; empty without a schema."""
        where = f"reading the schemas of {topic}"
        try:
            answer = _object(self.admin.get(schema_resource(topic, "schemas"), where), where)
        except TopicNotFoundError:
            return ()
        found = answer.get("getSchemaResponses") or []
        versions = [
            RegisteredSchema(schema_answered(topic, each), int(each.get("timestamp", 0))) for each in found
        ]
        return tuple(sorted(versions, key=lambda each: each.info.version or b""))

    def register_schema(self, topic: TopicName, info: SchemaInfo) -> int:
        """The version that the registry then has it under: an older one, which does not become the newest, when it has
        held an equal schema before. Raises `SchemaError` with the broker's reason when it refuses the schema."""
        where = f"registering the {info.type.name} schema of {topic}"
        body = {
            "type": info.type.name,
            "schema": schema_asked(info, topic),
            "properties": dict(info.properties),
        }
        told = (_CONFLICT, _UNPROCESSABLE)
        change = self.admin.change("POST", schema_resource(topic, "schema"), where, body, told=told)
        if change.status == _CONFLICT:
            raise SchemaError(
                f"{where}: expected one that is compatible with the schemas before it, got a refusal: "
                f"{_reason(change.text)}; change less, or let an administrator choose another "
                "schema compatibility strategy for the namespace"
            )
        if change.status == _UNPROCESSABLE:
            raise SchemaError(f"{where}: expected a valid schema, got a refusal: {_reason(change.text)}")
        try:
            return int(json.loads(change.text)["version"]["version"])
        except (ValueError, TypeError, KeyError):
            raise ProtocolError(f"{where}: expected the version of the schema, got another answer") from None

    def _of_namespace(self, namespace: Namespace, where: str, *names: str, **query: str) -> Any:
        return self._get_in_namespace(namespace_resource(namespace, *names, **query), where)

    def _get_in_namespace(self, path: str, where: str) -> Any:
        try:
            return self.admin.get(path, where)
        except TopicNotFoundError:
            raise _no_namespace(where) from None

    def _change_namespace(self, method: str, path: str, where: str, body: Any = None) -> None:
        if self.admin.change(method, path, where, body, told=(_NOT_FOUND,)).status == _NOT_FOUND:
            raise _no_namespace(where)


def _policy(where: Namespace | TopicName, name: str, **query: str) -> str:
    if isinstance(where, Namespace):
        return namespace_resource(where, name, **query)
    return topic_resource(where, name, **query)


def _no_namespace(where: str) -> NamespaceNotFoundError:
    return NamespaceNotFoundError(
        f"{where}: expected an existing namespace, got none of that name; check tenant and namespace, or create it"
    )


def _object(answer: Any, where: str) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise ProtocolError(f"{where}: expected a JSON object from admin.url, got {type(answer).__name__}")
    return answer


def _text_map(answer: Any, where: str) -> dict[str, str]:
    return {} if answer is None else {str(key): str(value) for key, value in _object(answer, where).items()}


def _texts(answer: Any, where: str) -> list[str]:
    if not isinstance(answer, list) or not all(isinstance(each, str) for each in answer):
        raise ProtocolError(f"{where}: expected a JSON array of names from admin.url, got another answer")
    return answer


def _reason(text: str) -> str:
    """Why the broker refused, in one line: `reason` or, HTML-escaped, `message`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = {}
    found = document.get("reason") or document.get("message") if isinstance(document, dict) else None
    return re.sub(r"\s+", " ", html.unescape(str(found or "no reason"))).strip()[:_SHOWN]
