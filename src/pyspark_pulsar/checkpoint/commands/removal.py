"""Deleting the topics of a checkpoint with the admin REST API."""

from __future__ import annotations

from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.options import ReadOptions


def remove_topics(options: ReadOptions, name: CheckpointName) -> bool:
    """Delete the two topics, and return whether at least one of them existed.

    Raises:
        CatalogUnsupported: Producers or consumers use a topic.
        PermissionDenied: The role is not allowed to delete topics.

    """
    with AdminClient.for_planning(options) as admin:
        removed = [admin.topics.delete_idle(topic) for topic in (name.index, name.content)]
    return any(removed)
