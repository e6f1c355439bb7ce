"""The topic partitions that a stream reads, looked up at every trigger, and which of them are deleted. Driver only.

Unchanged facts are not requested again. A broker sends a namespace's list of topics only if it differs from the last
list that it sent. The number of partitions of a topic is requested only if the topic's entries in the list have
changed. Pulsar lists a partition when the partition is created, before its first message. So a trigger needs one small
request per namespace.

A topic partition that is missing from the lists is not necessarily deleted. Lists may be outdated, and a broker that is
down lists no topics. So a stream requests the topic by name from the broker before it treats a partition as deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.topic_list import TopicListing
from pyspark_pulsar.errors import TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition
from pyspark_pulsar.model.topic_layout import TopicLayout
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.topic_pattern import TopicPattern
from pyspark_pulsar.read.bounds.scalable_topics import present_layouts
from pyspark_pulsar.read.bounds.topics import (
    matching,
    named_topics,
    partitions_of,
    pattern_namespaces,
    present_topic_partitions,
)
from pyspark_pulsar.runtime import time


@dataclass(frozen=True, slots=True)
class PresentTopics:
    """The topics and partitions that exist now. Both tuples are sorted."""

    topics: tuple[TopicName, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    layouts: tuple[TopicLayout, ...] = ()
    """The layouts of the scalable topics among `topics`."""


class TopicWatch:
    """A lookup of the present topics at each trigger. Used by one thread."""

    def __init__(
        self,
        client: BrokerClient,
        admin: AdminClient | None,
        options: ReadOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Store the arguments. `clock` returns monotonic seconds.

        Raises:
            OptionError: A topic name is invalid.

        """
        self._client = client
        self._admin = admin
        self._options = options
        self._clock = clock
        self._named = named_topics(options) if options.topics_pattern is None else []
        self._listings: dict[Namespace, TopicListing] = {}
        self._listed: dict[TopicName, set[int]] = {}
        self._partitions: dict[TopicName, list[TopicPartition]] = {}
        self._layouts: dict[TopicName, TopicLayout] = {}
        self._present: PresentTopics | None = None
        self._next_lookup = 0.0

    def present(self) -> PresentTopics:
        """Return the topics that exist. The result may be as old as `discoveryIntervalMs`.

        Raises:
            TopicNotFoundError: A topic that the options name did not exist at the first call.
            PulsarError: For the same reasons as `pattern_namespaces`.

        """
        if self._present is not None and self._clock() < self._next_lookup:
            return self._present
        pattern = self._options.topics_pattern
        changed = self._look_up_named() if pattern is None else self._look_up_matches(pattern)
        if changed or self._present is None:
            partitions = {partition for parts in self._partitions.values() for partition in parts}
            self._present = PresentTopics(
                tuple(sorted(self._partitions)), tuple(sorted(partitions)), tuple(self._layouts.values())
            )
        self._next_lookup = self._clock() + self._options.discovery_interval_ms / 1000
        return self._present

    def deleted(self, partitions: set[TopicPartition]) -> set[TopicPartition]:
        """Return those `partitions` that do not exist according to the broker.

        The method is called for partitions that `present` has not listed.
        """
        topics = sorted({partition.topic for partition in partitions})
        found = present_topic_partitions(self._client, topics).values()
        return partitions - {partition for listed in found for partition in listed or ()}

    def _look_up_named(self) -> bool:
        """Look up the topics that the options name. Return whether their partitions or layouts have changed."""
        former = self._partitions, self._layouts
        layouts = present_layouts(self._client, self._named)
        counts: dict[TopicName, int | None] = dict.fromkeys(self._named)
        counts |= self._client.present_partitions(topic for topic in self._named if not topic.is_scalable)
        counts |= dict.fromkeys(layouts, 0)
        if self._present is None:
            missing = [str(topic) for topic, count in counts.items() if count is None]
            if missing:
                raise TopicNotFoundError(
                    f"topic {', '.join(missing)} does not exist; create it, or correct the name (a read never creates "
                    f"a topic)"
                )
        self._layouts = dict(layouts)
        self._partitions = {
            topic: layouts[topic].partitions if topic in layouts else partitions_of(topic, count)
            for topic, count in counts.items()
            if count is not None
        }
        return (self._partitions, self._layouts) != former

    def _look_up_matches(self, pattern: TopicPattern) -> bool:
        """Look up the topics that the pattern matches. Return whether a namespace's list of topics has changed."""
        namespaces = pattern_namespaces(pattern, self._options, self._admin)
        former = {namespace: self._listings.get(namespace) for namespace in namespaces}
        listings = self._client.listings(former)
        if listings == self._listings:
            return False
        listed = matching(pattern, listings.values())
        changed = [topic for topic, indices in listed.items() if self._listed.get(topic) != indices]
        counts = self._client.present_partitions(sorted(changed))
        for topic, count in counts.items():
            counted = set() if count is None else set(partitions_of(topic, count))
            by_name = {TopicPartition(topic, index) for index in listed[topic] if index >= 0}
            self._partitions[topic] = sorted(counted | by_name)
        for topic in self._partitions.keys() - listed.keys():
            del self._partitions[topic]
        self._listings, self._listed = listings, listed
        return True
