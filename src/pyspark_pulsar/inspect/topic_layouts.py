"""A list of the segments of scalable topics, for users. This module runs on the driver only."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError, TopicNotFoundError
from pyspark_pulsar.model.topic_layout import TopicLayout
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topics import discover_topics

LAYOUT = pa.schema(
    {
        "topic": pa.string(),
        "segment": pa.int64(),
        "state": pa.string(),
        "first_hash": pa.int32(),
        "last_hash": pa.int32(),
        "parents": pa.list_(pa.int64()),
        "name": pa.string(),
    }
)


def topic_layouts(options: ReadOptions) -> list[TopicLayout]:
    """Return the layouts of the topics in the options, sorted by topic name.

    Raises:
        OptionError: A topic is not scalable.
        TopicNotFoundError: A topic does not exist.
        PulsarError: The errors of `BrokerClient.layouts`.

    """
    with BrokerClient.for_planning(options) as client:
        topics = discover_topics(client, options)
        for topic in topics:
            if not topic.is_scalable:
                raise OptionError(
                    f"topic {topic}: expected a scalable topic, whose name starts with topic://, got a topic with "
                    f"partitions and ledgers; run `pyspark-pulsar segments` to see the ledgers"
                )
        layouts = client.layouts(topics)
    for topic, layout in layouts.items():
        if layout is None:
            raise TopicNotFoundError(f"topic {topic} does not exist; create it, or correct the name")
    return [layout for layout in layouts.values() if layout is not None]


def layout_table(layouts: list[TopicLayout]) -> pa.Table:
    """Return a table with a row for each segment.

    The column `name` contains the name of the topic that contains the segment's messages. Offsets of queries identify
    the segment by this name.
    """
    rows = [
        {
            "topic": str(layout.topic),
            "segment": segment.id,
            "state": "sealed" if segment.is_sealed else "active",
            "first_hash": segment.first_hash,
            "last_hash": segment.last_hash,
            "parents": list(segment.parents),
            "name": layout.partition(segment).name,
        }
        for layout in layouts
        for segment in layout.segments
    ]
    return pa.Table.from_pylist(rows, LAYOUT)
