"""The segments of scalable topics as a user sees them. Driver only."""

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
    """Of the topics that the options name, sorted. Raises `OptionError` for one that is not scalable,
    `TopicNotFoundError`, and the errors of `BrokerClient.layouts`."""
    with BrokerClient.for_planning(options) as client:
        topics = discover_topics(client, options)
        for topic in topics:
            if not topic.is_scalable:
                raise OptionError(
                    f"topic {topic}: expected a scalable topic, which starts with topic://, got another, which has "
                    f"partitions and ledgers: `pyspark-pulsar segments` shows these"
                )
        layouts = client.layouts(topics)
    for topic, layout in layouts.items():
        if layout is None:
            raise TopicNotFoundError(f"topic {topic} does not exist; create it, or correct the name")
    return [layout for layout in layouts.values() if layout is not None]


def layout_table(layouts: list[TopicLayout]) -> pa.Table:
    """A row for each segment; `name` is what its messages are read from, and what positions name."""
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
