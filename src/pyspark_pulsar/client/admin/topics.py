"""Requests to the admin REST API about topics: names, partitions, properties, statistics and ledgers.

Source of the resources: `PersistentTopics` of Pulsar's admin API v2 (4.0.8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyspark_pulsar.client.admin.answers import as_names, as_object, as_text_map, reason_of
from pyspark_pulsar.client.admin.namespaces import get_in_namespace, no_namespace
from pyspark_pulsar.client.admin.paths import (
    namespace_resource,
    schema_resource,
    topic_resource,
    topics_resource,
)
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.client.admin.schemas import Schemas
from pyspark_pulsar.client.retries import retry
from pyspark_pulsar.client.topic_list import usable_topics
from pyspark_pulsar.errors import CatalogUnsupported, TopicExistsError, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition

_NOT_FOUND, _CONFLICT, _PRECONDITION_FAILED = 404, 409, 412
_IDLE_SECONDS: Final = 15.0


class Topics:
    """Requests about topics, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def of_namespace(self, namespace: Namespace, *, system: bool = False) -> frozenset[TopicName]:
        """List all persistent and non-persistent topics of a namespace, with three requests.

        The list contains a partitioned topic once, without the topic's partitions.

        Args:
            namespace: The namespace.
            system: Whether to include Pulsar's own system topics.

        Raises:
            NamespaceNotFoundError: The namespace does not exist.

        """
        where = f"listing the topics of {namespace}"
        query = {"includeSystemTopic": "true" if system else "false"}
        path = namespace_resource(namespace, "topics", mode="ALL", **query)
        names = as_names(get_in_namespace(self._rest, path, where), where)
        partitioned: set[TopicName] = set()
        for domain in ("persistent", "non-persistent"):
            path = topics_resource(domain, namespace, "partitioned", **query)
            with_partitions = as_names(get_in_namespace(self._rest, path, where), where)
            partitioned.update(usable_topics(with_partitions, namespace))
        single = usable_topics(names, namespace)
        topics = partitioned.union(
            topic for topic in single if topic.partition < 0 or topic.without_partition() not in partitioned
        )
        return frozenset(topic for topic in topics if system or not topic.is_system)

    def partitions(self, topic: TopicName) -> int | None:
        """Return the number of partitions: 0 for a non-partitioned topic, None if the topic does not exist."""
        where = f"looking for {topic}"
        try:
            answer = as_object(self._rest.get(topic_resource(topic, "partitions"), where), where)
        except TopicNotFoundError:
            return None
        return int(answer.get("partitions", 0))

    def create(self, topic: TopicName, partitions: int) -> None:
        """Create a topic.

        Args:
            topic: The topic.
            partitions: The number of partitions, or 0 for a non-partitioned topic.

        Raises:
            TopicExistsError: A topic with this name exists.
            NamespaceNotFoundError: The namespace does not exist.

        """
        where = f"creating {topic}"
        path, body = topic_resource(topic), None
        if partitions:
            path, body = topic_resource(topic, "partitions"), partitions
        status = self._rest.change("PUT", path, where, body, expected=(_CONFLICT, _NOT_FOUND)).status
        if status == _CONFLICT:
            raise TopicExistsError(
                f"{where}: expected a new name, got one that exists; choose another name, or add IF NOT EXISTS"
            )
        if status == _NOT_FOUND:
            raise no_namespace(where)

    def set_partitions(self, topic: TopicName, count: int) -> None:
        """Increase the number of partitions of a partitioned topic. Brokers refuse a lower number."""
        self._rest.change("POST", topic_resource(topic, "partitions"), f"adding partitions to {topic}", count)

    def delete(self, topic: TopicName, *, partitioned: bool) -> bool:
        """Delete a topic, with the topic's partitions, subscriptions, policies and schemas.

        Returns:
            Whether the topic existed before the call.

        Raises:
            CatalogUnsupported: The topic has producers or consumers.

        """
        where = f"deleting {topic}"
        path = topic_resource(topic, "partitions") if partitioned else topic_resource(topic)
        change = self._rest.change("DELETE", path, where, expected=(_NOT_FOUND, _PRECONDITION_FAILED))
        if change.status == _PRECONDITION_FAILED:
            raise CatalogUnsupported(
                f"{where}: expected a topic without clients, got a refusal: {reason_of(change.text)}; stop the "
                "topic's producers and consumers first"
            )
        # Brokers (4.0.8) do not delete some schemas. A new topic of the same name would have these schemas.
        if Schemas(self._rest).latest(topic) is not None:
            path = schema_resource(topic, "schema", force="true")
            self._rest.change("DELETE", path, where, expected=(_NOT_FOUND,))
        return change.status != _NOT_FOUND

    def delete_idle(self, topic: TopicName) -> bool:
        """Delete a topic whose clients are disconnecting. The method retries for 15 s while clients are connected.

        Returns:
            Whether the topic existed before the call.

        Raises:
            CatalogUnsupported: The topic still has producers or consumers after 15 s.

        """
        partitions = self.partitions(topic)
        if partitions is None:
            return False
        # After this process closes its producers and consumers, brokers need a moment to remove these clients.
        return retry(
            lambda: self.delete(topic, partitioned=partitions > 0),
            CatalogUnsupported,
            lambda _: _IDLE_SECONDS,
        )

    def properties(self, topic: TopicName) -> dict[str, str]:
        """Return the properties that are set on the topic. Non-persistent topics have no properties."""
        if not topic.is_persistent:
            return {}
        where = f"reading the properties of {topic}"
        return as_text_map(self._rest.get(topic_resource(topic, "properties"), where), where)

    def set_properties(self, topic: TopicName, properties: Mapping[str, str]) -> None:
        """Add properties to the topic, and replace existing properties of the same names.

        Raises:
            TopicNotFoundError: The topic does not exist.

        """
        self._must_exist(topic)
        where = f"setting properties of {topic}"
        self._rest.change("PUT", topic_resource(topic, "properties"), where, dict(properties))

    def remove_property(self, topic: TopicName, key: str) -> None:
        """Remove a property from the topic. If the property does not exist, nothing changes.

        Raises:
            TopicNotFoundError: The topic does not exist.

        """
        self._must_exist(topic)
        path = topic_resource(topic, "properties", key=key)
        self._rest.change("DELETE", path, f"removing property {key} of {topic}")

    def stats(self, topic: TopicName, partitions: int) -> dict[str, Any]:
        """Return statistics of the whole topic. `partitions` is the result of `Topics.partitions` for the topic."""
        where = f"reading the statistics of {topic}"
        path = topic_resource(topic, "stats")
        if partitions:
            path = topic_resource(topic, "partitioned-stats", perPartition="false")
        return as_object(self._rest.get(path, where), where)

    def _must_exist(self, topic: TopicName) -> None:
        # If the topic does not exist, brokers (4.0.8) never answer a change of properties.
        if self.partitions(topic) is None:
            raise TopicNotFoundError(f"topic {topic}: expected an existing topic, got none; check the name")

    def internal_info(self, partition: TopicPartition) -> dict[str, Any]:
        """Return information about the ledgers from the metadata store. The ledgers are in no particular order.

        Raises:
            TopicNotFoundError: The topic partition does not exist.

        """
        where = f"reading the ledgers of {partition}"
        return as_object(self._rest.get(topic_resource(partition.as_topic, "internal-info"), where), where)

    def internal_stats(self, partition: TopicPartition, *, metadata: bool = False) -> dict[str, Any]:
        """Return information about the ledgers from the broker that owns the topic partition.

        Args:
            partition: The topic partition.
            metadata: Whether to include the ensembles. To return ensembles, the broker opens every ledger of the topic
                partition.

        """
        where = f"reading the ledgers of {partition}"
        query = {"metadata": "true"} if metadata else {}
        return as_object(
            self._rest.get(topic_resource(partition.as_topic, "internalStats", **query), where), where
        )
