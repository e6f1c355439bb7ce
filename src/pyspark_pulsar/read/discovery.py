"""From the topic options to the topic partitions that exist now. Driver only."""

from __future__ import annotations

import re

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.errors import OptionError, TopicNotFoundError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.topic import Namespace, TopicName, TopicPartition

_PATTERN = re.compile(
    r"^(?:(?P<domain>[\w-]+)://)?(?P<tenant>[-=:.\w]+)/(?P<namespace>[-=:.\w]+)/(?P<local>.+)$"
)


def discover_topics(client: BrokerClient, options: ReadOptions) -> list[TopicName]:
    """The topics that the options name, sorted; a pattern's matches as they exist now.

    A name may be that of one partition (`x-partition-2`). Raises `TopicNameError`, `OptionError`; a pattern
    that matches nothing gives an empty list.
    """
    if options.topics_pattern is not None:
        return _matching(client, options.topics_pattern)
    texts = options.topics if options.topics is not None else (options.topic or "",)
    topics = sorted({TopicName.parse(text) for text in texts})
    for topic in topics:
        if not topic.is_persistent:
            raise OptionError(
                f"topic {topic}: expected a persistent topic, got a non-persistent one, which keeps no "
                f"messages to read by position; make it persistent"
            )
    return topics


def discover_partitions(client: BrokerClient, topics: list[TopicName]) -> list[TopicPartition]:
    """All partitions of the topics, sorted. Raises `TopicNotFoundError` for a topic that is gone."""
    counts = client.partition_counts(topics)
    partitions: set[TopicPartition] = set()
    for topic, count in counts.items():
        if count == 0:
            partitions.add(TopicPartition(topic.without_partition(), topic.partition))
        partitions.update(TopicPartition(topic, index) for index in range(count))
    return sorted(partitions)


def require_topics(topics: list[TopicName], options: ReadOptions) -> list[TopicName]:
    """`topics`, which a new query needs at least one of for its schema. Raises `TopicNotFoundError`."""
    if not topics:
        raise TopicNotFoundError(
            f"option 'topicsPattern': expected at least one topic that matches {options.topics_pattern!r}, got "
            f"none; the whole name is matched, for example 'persistent://public/default/orders-.*'"
        )
    return topics


def _matching(client: BrokerClient, pattern: str) -> list[TopicName]:
    namespace, domain_pattern, local_pattern = _split_pattern(pattern)
    if domain_pattern not in (None, "persistent"):
        raise OptionError(f"option 'topicsPattern': expected persistent topics, got {domain_pattern}://")
    try:
        expression = re.compile(local_pattern)
    except re.error as fault:
        raise OptionError(
            f"option 'topicsPattern': expected a regular expression, got {pattern!r}: {fault}"
        ) from None
    return [topic for topic in client.topics_of_namespace(namespace) if expression.fullmatch(topic.local)]


def _split_pattern(pattern: str) -> tuple[Namespace, str | None, str]:
    if "/" not in pattern:
        return Namespace("public", "default"), None, pattern
    match = _PATTERN.match(pattern)
    if not match:
        raise OptionError(
            f"option 'topicsPattern': expected 'regex', 'tenant/namespace/regex' or "
            f"'persistent://tenant/namespace/regex' with plain tenant and namespace, got {pattern!r}"
        )
    return Namespace(match["tenant"], match["namespace"]), match["domain"], match["local"]
