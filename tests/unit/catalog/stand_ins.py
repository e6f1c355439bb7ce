"""Substitutes for Pulsar in tests of the catalog's process: what exists, and a record of the requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.settings import parse_settings
from pyspark_pulsar.client.topic_list import TopicListing
from pyspark_pulsar.errors import NamespaceNotFoundError, PulsarError, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.schema.info import SchemaInfo

URLS = {"service.url": "pulsar://localhost:1", "admin.url": "http://localhost:1"}


@dataclass(kw_only=True)
class Requests:
    """`refuses`: what each request is answered with instead."""

    counts: Counter[str] = field(default_factory=Counter)
    refuses: dict[str, PulsarError] = field(default_factory=dict)

    def note(self, question: str) -> None:
        self.counts[question] += 1
        if question in self.refuses:
            raise self.refuses[question]


@dataclass(kw_only=True)
class Admin(Requests):
    """The part of `AdminClient` that listing and loading use."""

    topics_there: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """Topics by their namespaces."""
    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def tenants(self) -> Any:
        return SimpleNamespace(names=self._tenants, exists=self._tenant_exists)

    @property
    def namespaces(self) -> Any:
        return SimpleNamespace(of_tenant=self._namespaces)

    @property
    def topics(self) -> Any:
        return SimpleNamespace(of_namespace=self._topics, properties=self._topic_properties)

    def close(self) -> None:
        pass

    def _namespaces(self, tenant: str) -> tuple[Namespace, ...]:
        self.note("namespaces")
        found = [name.split("/") for name in self.topics_there]
        if tenant not in {first for first, _ in found}:
            raise TopicNotFoundError(f"tenant {tenant}")
        self.note(f"namespaces of {tenant}")
        return tuple(Namespace(*each) for each in found if each[0] == tenant)

    def _tenants(self) -> tuple[str, ...]:
        self.note("tenants")
        return tuple(dict.fromkeys(name.split("/")[0] for name in self.topics_there))

    def _tenant_exists(self, tenant: str) -> bool:
        self.note("tenant_exists")
        return any(name.startswith(f"{tenant}/") for name in self.topics_there)

    def _topics(self, namespace: Namespace, *, system: bool = False) -> frozenset[TopicName]:
        self.note("topics")
        if str(namespace) not in self.topics_there:
            raise NamespaceNotFoundError(str(namespace))
        names = (TopicName.parse(each) for each in self.topics_there[str(namespace)])
        return frozenset(each for each in names if system or not each.is_system)

    def _topic_properties(self, topic: TopicName) -> dict[str, str]:
        self.note("topic_properties")
        if str(topic) not in self.properties:
            raise TopicNotFoundError(str(topic))
        return dict(self.properties[str(topic)])


@dataclass(kw_only=True)
class Broker(Requests):
    """Topics by their full names: how many partitions, and the schema."""

    there: Mapping[str, tuple[int, SchemaInfo | None]] = field(default_factory=dict)

    def close(self) -> None:
        pass

    def partition_count(self, topic: TopicName) -> int:
        return self.partition_counts([topic])[topic]

    def partition_counts(self, topics: Iterable[TopicName]) -> dict[TopicName, int]:
        counts = self.present_partitions(topics)
        for topic, count in counts.items():
            if count is None:
                raise self.missing_topic(topic)
        return {topic: count for topic, count in counts.items() if count is not None}

    def missing_topic(self, topic: TopicName) -> TopicNotFoundError:
        return TopicNotFoundError(str(topic))

    def present_partitions(self, topics: Iterable[TopicName]) -> dict[TopicName, int | None]:
        self.note("partitions")
        return {topic: self.there.get(str(topic), (None, None))[0] for topic in topics}

    def schema(self, topic: TopicName) -> SchemaInfo | None:
        return self.schemas([topic])[topic]

    def schemas(self, topics: Iterable[TopicName]) -> dict[TopicName, SchemaInfo | None]:
        self.note("schemas")
        return {topic: self.there[str(topic)][1] for topic in topics}

    def listings(self, known: Mapping[Namespace, Any]) -> dict[Namespace, TopicListing]:
        self.note("listings")
        names = [TopicName.parse(each) for each in self.there]
        return {
            each: TopicListing(frozenset(name for name in names if name.namespace == each), "")
            for each in known
        }


def cluster_of(broker: Broker | None = None, admin: Admin | None = None, **settings: str) -> Cluster:
    """Return a cluster; without `admin`, its settings have no `admin.url`."""
    given = {key: url for key, url in URLS.items() if admin is not None or key != "admin.url"}
    cluster = Cluster(parse_settings("pulsar", given | settings))
    made: dict[str, Any] = cluster.__dict__
    made["client"] = broker or Broker()
    if admin is not None:
        made["admin"] = made["brief_admin"] = admin
    return cluster
