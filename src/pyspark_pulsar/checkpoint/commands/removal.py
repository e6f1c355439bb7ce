"""Deleting the topics of a checkpoint, which needs the admin REST API."""

from __future__ import annotations

import time
from typing import Final

from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import CatalogUnsupported
from pyspark_pulsar.options import ReadOptions

_PATIENCE_SECONDS: Final = 15.0


def remove_topics(options: ReadOptions, name: CheckpointName) -> bool:
    """Whether there was one. Raises `CatalogUnsupported` while processes use them, `PermissionDenied`."""
    was_there = False
    with AdminClient.for_planning(options) as admin:
        for topic in (name.index, name.content):
            partitions = admin.topics.partitions(topic)
            if partitions is None:
                continue
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while True:
                try:
                    was_there = admin.topics.delete(topic, partitioned=partitions > 0) or was_there
                    break
                except CatalogUnsupported:
                    # Brokers take a moment to let go of our own connections.
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.5)
    return was_there
