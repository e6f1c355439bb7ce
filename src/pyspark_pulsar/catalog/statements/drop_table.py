"""DROP TABLE: a topic with its messages, subscriptions, policies and schemas."""

from __future__ import annotations

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import CatalogUnsupported
from pyspark_pulsar.model.topic import TopicName


def drop_table(admin: AdminClient, topic: TopicName) -> bool:
    """False when there is no such topic. Raises `CatalogUnsupported` for a topic in use and one that is not to be
    changed."""
    partitions = admin.topics.partitions(topic)
    if partitions is None:
        return False
    refuse_unchangeable(admin, topic, "dropped")
    return admin.topics.delete(topic, partitioned=partitions > 0)


def refuse_unchangeable(admin: AdminClient, topic: TopicName, done: str) -> None:
    """Raises `CatalogUnsupported` for topics that Pulsar keeps for itself, and for one partition of a topic."""
    if topic.is_system:
        raise CatalogUnsupported(
            f"topic {topic}: expected a topic of yours to be {done}, got one that Pulsar keeps for itself; leave it "
            "to Pulsar"
        )
    if topic.partition >= 0 and admin.topics.partitions(topic.without_partition()):
        raise CatalogUnsupported(
            f"topic {topic}: expected a whole topic to be {done}, got one partition; name "
            f"{topic.without_partition()} instead"
        )
