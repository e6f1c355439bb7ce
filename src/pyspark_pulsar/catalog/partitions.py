"""The partitions of a table for SHOW PARTITIONS. Each partition is a value of the column `__partition`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.names import parse_table
from pyspark_pulsar.catalog.system_tables import offsets_of
from pyspark_pulsar.catalog.tables import require_topic
from pyspark_pulsar.model.topic import TopicPartition


def partitions(cluster: Cluster, namespace: Sequence[str], table: str) -> list[int]:
    """Return the indexes of the topic's partitions. Raises `TopicNotFoundError`.

    The list is empty for a topic without partitions, and for a table that is one partition.
    """
    return list(range(require_topic(cluster, parse_table(namespace, table).topic)))


def load_partition(cluster: Cluster, namespace: Sequence[str], table: str, partition: int) -> dict[str, str]:
    """Return the row of the system table `$offsets` for a partition.

    Values that the role is not allowed to see are left out.

    Raises:
        TopicNotFoundError: The topic does not exist.

    """
    topic = parse_table(namespace, table).topic
    (row,) = offsets_of(cluster, [TopicPartition(topic, partition)])
    return {name: str(value) for name, value in row.items() if value is not None and name != "partition"}
