"""Deleting the topics of a checkpoint, which needs the admin REST API."""

from __future__ import annotations

from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.options import ReadOptions


def remove_topics(options: ReadOptions, name: CheckpointName) -> bool:
    """Whether there was one. Raises `CatalogUnsupported` while processes use them, `PermissionDenied`."""
    with AdminClient.for_planning(options) as admin:
        removed = [admin.topics.delete_idle(topic) for topic in (name.index, name.content)]
    return any(removed)
