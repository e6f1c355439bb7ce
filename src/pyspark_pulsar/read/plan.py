"""From bounds to splits; the same for a batch and a micro-batch. Driver only."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark_pulsar.message_id import Position
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.topic import TopicPartition


def plan_splits(
    starts: Mapping[TopicPartition, Position], ends: Mapping[TopicPartition, Position]
) -> list[Split]:
    """One split for each partition whose range holds something; together they cover each range once.

    A partition without a start in `starts` is not read. An end before its start reads nothing.
    """
    return [
        Split(partition, starts[partition], end)
        for partition, end in sorted(ends.items())
        if partition in starts and starts[partition] < end
    ]
