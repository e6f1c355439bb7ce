"""Scalable topics of Pulsar 5 among the topics of a read: what is refused, and what their partitions are. Driver only.

A segment is read as a topic partition, through the broker that serves it. Nobody tells which ledgers a segment has: the
admin REST API answers for persistent topics only. So whatever needs ledgers is refused.
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

_NO_LEDGERS: Final = "Pulsar 5 tells nobody which ledgers a segment has, so its messages come from brokers"


def refuse_for_scalable(options: ReadOptions, topic: TopicName) -> None:
    """Raises `OptionError` for what cannot be done with the segments of `topic`."""
    if options.read_from not in (AUTO, BROKER):
        raise _refused(topic, f"readFrom={options.read_from}", f"{_NO_LEDGERS}; leave readFrom out")
    if options.behind_table is not None:
        raise _refused(topic, "behindTable", "its history is in no table; leave it out")
    if options.names_tables and options.read_from != BROKER:
        raise _refused(
            topic, "tables", "its history is in none; leave their options out, or set readFrom=broker"
        )
    if options.read_compacted:
        raise _refused(topic, "readCompacted=true", "segments are not compacted; leave it out")
    subscriptions = {
        "subscriptionName": options.subscription_name,
        "startingSubscription": options.starting_subscription,
    }
    for key, name in subscriptions.items():
        if name is not None:
            why = "a scalable topic's subscriptions belong to its controller, which moves them from segment to segment"
            raise _refused(
                topic, f"{key}={name}", f"{why}; leave it out, and start by startingOffsets or a time"
            )


def _refused(topic: TopicName, what: str, why: str) -> OptionError:
    return OptionError(f"topic {topic} is a scalable topic: expected a read without {what}, got it; {why}")


def present_layouts(client: BrokerClient, topics: Iterable[TopicName]) -> Mapping[TopicName, TopicLayout]:
    """Of those that are scalable and exist. Asks nobody where none is."""
    scalable = sorted({topic for topic in topics if topic.is_scalable})
    layouts = client.layouts(scalable) if scalable else {}
    return {topic: layout for topic, layout in layouts.items() if layout is not None}
