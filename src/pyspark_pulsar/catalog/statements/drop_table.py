"""DROP TABLE, which deletes a topic with its messages, subscriptions, policies and schemas."""

from __future__ import annotations

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import CatalogUnsupported
from pyspark_pulsar.model.topic import TopicName


def drop_table(admin: AdminClient, topic: TopicName) -> bool:
    """Delete a topic.

    Returns:
        False if the topic does not exist.

    Raises:
        CatalogUnsupported: The topic is in use, or `refuse_unchangeable` refuses the topic.

    """
    partitions = admin.topics.partitions(topic)
    if partitions is None:
        return False
    refuse_unchangeable(admin, topic, "dropped")
    return admin.topics.delete(topic, partitioned=partitions > 0)


def refuse_unchangeable(admin: AdminClient, topic: TopicName, action: str) -> None:
    """Raise `CatalogUnsupported` if Pulsar reserves the topic for itself, or if the topic is one partition."""
    if topic.is_system:
        raise CatalogUnsupported(
            f"topic {topic}: expected a user topic to be {action}, got a topic that Pulsar reserves for itself; "
            "name another topic"
        )
    if topic.partition >= 0 and admin.topics.partitions(topic.without_partition()):
        raise CatalogUnsupported(
            f"topic {topic}: expected a whole topic to be {action}, got one partition; name "
            f"{topic.without_partition()} instead"
        )
