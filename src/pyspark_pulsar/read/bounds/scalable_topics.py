"""Scalable topics of Pulsar 5: their layouts, and the options that a read of them does not support. Driver only.

A segment is read as a topic partition, through the broker that serves it. The ledgers of a segment are unknown, because
the admin REST API supports only persistent topics. So options that need ledgers are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.topic_layout import TopicLayout
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, BROKER

_NO_LEDGERS: Final = (
    "Pulsar 5 does not report the ledgers of a segment, so its messages are read from brokers"
)


def refuse_for_scalable(options: ReadOptions, topic: TopicName) -> None:
    """Raise `OptionError` for options that a read of the scalable topic `topic` does not support."""
    if options.read_from not in (AUTO, BROKER):
        raise _refused(topic, f"readFrom={options.read_from}", f"{_NO_LEDGERS}; leave readFrom out")
    if options.behind_table is not None:
        raise _refused(topic, "behindTable", "a scalable topic has no table; leave behindTable out")
    if options.names_tables and options.read_from != BROKER:
        raise _refused(
            topic,
            "tables",
            "a scalable topic has no table; leave out the options of tables, or set readFrom=broker",
        )
    if options.read_compacted:
        raise _refused(topic, "readCompacted=true", "segments are not compacted; leave readCompacted out")
    subscriptions = {
        "subscriptionName": options.subscription_name,
        "startingSubscription": options.starting_subscription,
    }
    for key, name in subscriptions.items():
        if name is not None:
            why = (
                "the subscriptions belong to the topic's controller, which moves them from segment to segment"
            )
            raise _refused(
                topic, f"{key}={name}", f"{why}; leave {key} out, and start at startingOffsets or at a time"
            )


def _refused(topic: TopicName, setting: str, why: str) -> OptionError:
    return OptionError(
        f"topic {topic} is a scalable topic: expected a read without {setting}, got {setting}; {why}"
    )


def present_layouts(client: BrokerClient, topics: Iterable[TopicName]) -> Mapping[TopicName, TopicLayout]:
    """Return the layouts of the scalable topics that exist. If no topic is scalable, no request is sent."""
    scalable = sorted({topic for topic in topics if topic.is_scalable})
    layouts = client.layouts(scalable) if scalable else {}
    return {topic: layout for topic, layout in layouts.items() if layout is not None}
