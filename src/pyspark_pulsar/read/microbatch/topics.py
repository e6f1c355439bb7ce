"""Which topic partitions a stream reads, looked up again at every trigger. Driver only.

What has not changed is not asked for again: a broker sends a namespace's list of topics only where it is another than
the last one, and how many partitions a topic has is asked when its line in that list changes. Pulsar lists a partition
when it is made, which is before its first message. So a trigger costs one small request for each namespace.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient, TopicListing
from pyspark_pulsar.errors import TopicNotFoundError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topic_pattern import TopicPattern
from pyspark_pulsar.read.bounds.topics import matching, named_topics, partitions_of, pattern_namespaces
from pyspark_pulsar.topic import Namespace, TopicName, TopicPartition


@dataclass(frozen=True, slots=True)
class Found:
    """Sorted."""

    topics: tuple[TopicName, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()


class TopicWatch:
    """Used by one thread: `look` at each trigger."""

    def __init__(
        self,
        client: BrokerClient,
        admin: AdminClient | None,
        options: ReadOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._admin = admin
        self._options = options
        self._clock = clock
        self._pattern = TopicPattern.parse(options.topics_pattern) if options.topics_pattern else None
        self._listings: dict[Namespace, TopicListing] = {}
        self._listed: dict[TopicName, set[int]] = {}
        self._partitions: dict[TopicName, list[TopicPartition]] = {}
        self._found: Found | None = None
        self._next_look = 0.0

    def look(self) -> Found:
        """What exists now, or what was found less than `discoveryIntervalMs` ago. Topics that are gone are left out;
        a named one that was never there raises `TopicNotFoundError`. Raises the errors of `pattern_namespaces`."""
        if self._found is not None and self._clock() < self._next_look:
            return self._found
        changed = (
            self._look_for_matches(self._pattern) if self._pattern is not None else self._look_for_named()
        )
        if changed or self._found is None:
            partitions = {each for parts in self._partitions.values() for each in parts}
            self._found = Found(tuple(sorted(self._partitions)), tuple(sorted(partitions)))
        self._next_look = self._clock() + self._options.discovery_interval_ms / 1000
        return self._found

    def departed(self, partitions: set[TopicPartition]) -> set[TopicPartition]:
        """Those of `partitions`, which `look` has not found, of which the broker itself says that they are gone."""
        counts = self._client.present_partitions(sorted({each.topic for each in partitions}))
        present = {
            each
            for topic, count in counts.items()
            if count is not None
            for each in partitions_of(topic, count)
        }
        return partitions - present

    def _look_for_named(self) -> bool:
        former = self._partitions
        counts = self._client.present_partitions(named_topics(self._options))
        if self._found is None:
            missing = [str(topic) for topic, count in counts.items() if count is None]
            if missing:
                raise TopicNotFoundError(
                    f"topic {', '.join(missing)} does not exist; create it, or correct the name (a read never creates "
                    f"a topic)"
                )
        self._partitions = {
            topic: partitions_of(topic, count) for topic, count in counts.items() if count is not None
        }
        return self._partitions != former

    def _look_for_matches(self, pattern: TopicPattern) -> bool:
        namespaces = pattern_namespaces(pattern, self._options, self._admin)
        known = {namespace: self._listings.get(namespace) for namespace in namespaces}
        listings = self._client.listings(known)
        if listings == self._listings:
            return False
        listed = matching(pattern, listings.values())
        changed = [topic for topic, parts in listed.items() if self._listed.get(topic) != parts]
        counts = self._client.present_partitions(sorted(changed))
        for topic, count in counts.items():
            told = set() if count is None else set(partitions_of(topic, count))
            listed_too = {TopicPartition(topic, index) for index in listed[topic] if index >= 0}
            self._partitions[topic] = sorted(told | listed_too)
        for topic in self._partitions.keys() - listed.keys():
            del self._partitions[topic]
        self._listings, self._listed = listings, listed
        return True
