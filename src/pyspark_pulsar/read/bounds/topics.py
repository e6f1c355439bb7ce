"""Discovery of topics and topic partitions from the topic options. Driver only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.topic_list import TopicListing
from pyspark_pulsar.errors import OptionError, PermissionDenied, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.topic_pattern import TopicPattern
from pyspark_pulsar.pages import page
from pyspark_pulsar.read.bounds.scalable_topics import present_layouts, refuse_for_scalable


def discover_topics(client: BrokerClient, options: ReadOptions) -> list[TopicName]:
    """Return the topics that the options name, or that currently match the pattern of the options.

    The list is sorted. A name may be the name of one partition (`x-partition-2`). If the pattern matches no topic, the
    list is empty.

    Raises:
        TopicNameError: A name is not a topic name.
        OptionError: A topic cannot be read with these options.
        PulsarError: For the same reasons as `pattern_namespaces`.

    """
    pattern = options.topics_pattern
    if pattern is None:
        return named_topics(options)
    listings = client.listings(dict.fromkeys(pattern_namespaces(pattern, options)))
    return _whole_topics(client, matching(pattern, listings.values()))


def named_topics(options: ReadOptions) -> list[TopicName]:
    """Return the topics of option `topic` or `topics`, sorted.

    Raises:
        TopicNameError: A name is not a topic name.
        OptionError: A topic cannot be read at all, or not with these options.

    """
    texts = options.topics if options.topics is not None else (options.topic or "",)
    topics = sorted({TopicName.parse(text, scalable=True) for text in texts})
    for topic in topics:
        if topic.is_scalable:
            refuse_for_scalable(options, topic)
        elif not topic.is_persistent:
            raise OptionError(
                f"topic {topic}: expected a persistent topic, got a non-persistent topic, whose messages cannot be "
                f"read again if a task fails; use a persistent topic ({page('streaming', 'Non-persistent topics')})"
            )
    return topics


def pattern_namespaces(
    pattern: TopicPattern, options: ReadOptions, admin: AdminClient | None = None
) -> list[Namespace]:
    """Return the namespaces in which the pattern can match topics.

    A pattern for several namespaces needs the admin REST API, because brokers do not list the namespaces of a tenant.

    Raises:
        OptionError: The pattern is for several namespaces, and `admin.url` is not set.
        PermissionDenied: This role may not list the namespaces.

    """

    def of_tenant(tenant: str) -> tuple[Namespace, ...]:
        if admin is not None:
            return admin.namespaces.of_tenant(tenant)
        with AdminClient.for_planning(options) as opened:
            return opened.namespaces.of_tenant(tenant)

    if pattern.namespace is None and options.admin_url is None:
        raise OptionError(
            f"option 'topicsPattern': expected option admin.url too, got none. The pattern {pattern.text!r} covers "
            f"several namespaces, which only the admin REST API lists; set admin.url, or name one namespace as plain "
            f"text"
        )
    try:
        return pattern.namespaces(of_tenant)
    except PermissionDenied as fault:
        raise PermissionDenied(
            f"option 'topicsPattern': {pattern.text!r} covers several namespaces, but this role is not allowed to list "
            f"the namespaces of tenant {pattern.tenant} ({fault}); grant the permission, or name one namespace as "
            f"plain text"
        ) from None


def matching(pattern: TopicPattern, listings: Iterable[TopicListing]) -> dict[TopicName, set[int]]:
    """Return each topic that matches, with the indexes of its listed partitions (-1 for the topic itself)."""
    topics: dict[TopicName, set[int]] = {}
    for listing in listings:
        for name in listing.names:
            topic = name.without_partition()
            if pattern.matches(topic):
                topics.setdefault(topic, set()).add(name.partition)
    return topics


def _whole_topics(client: BrokerClient, listed: Mapping[TopicName, set[int]]) -> list[TopicName]:
    """Return the topics of `listed`, a result of `matching`, sorted.

    A producer can create a topic whose name looks like the name of a partition, such as `x-partition-2`. The result
    contains such a name only if topic `x` does not exist or has no partitions.
    """
    counts = client.present_partitions(topic for topic, indices in listed.items() if max(indices) >= 0)
    names: set[TopicName] = set()
    for topic, indices in listed.items():
        count = counts.get(topic, 0)
        if count is not None:
            names.add(topic)
        if not count:
            names.update(topic.with_partition(index) for index in indices if index >= 0)
    return sorted(names)


def discover_partitions(client: BrokerClient, topics: list[TopicName]) -> list[TopicPartition]:
    """Return all partitions of the topics, sorted. Raises `TopicNotFoundError` if a topic does not exist."""
    partitions: set[TopicPartition] = set()
    for topic, found in present_topic_partitions(client, topics).items():
        if found is None:
            raise client.missing_topic(topic)
        partitions.update(found)
    return sorted(partitions)


def present_topic_partitions(
    client: BrokerClient, topics: Iterable[TopicName]
) -> dict[TopicName, list[TopicPartition] | None]:
    """Return the existing partitions or segments of each topic; None if the topic does not exist."""
    named = list(topics)
    layouts = present_layouts(client, named)
    counts = client.present_partitions(topic for topic in named if not topic.is_scalable)
    present: dict[TopicName, list[TopicPartition] | None] = dict.fromkeys(named)
    present.update({topic: layout.partitions for topic, layout in layouts.items()})
    present.update(
        {topic: partitions_of(topic, count) for topic, count in counts.items() if count is not None}
    )
    return present


def partitions_of(topic: TopicName, count: int) -> list[TopicPartition]:
    """Return the partitions of a topic.

    `count` is 0 for a topic without partitions, or if `topic` names a partition.
    """
    if count == 0:
        return [TopicPartition(topic.without_partition(), topic.partition)]
    return [TopicPartition(topic, index) for index in range(count)]


def require_topics(topics: list[TopicName], options: ReadOptions) -> list[TopicName]:
    """Return the topics. Raise `TopicNotFoundError` if the list is empty, because a query needs a topic's schema."""
    if not topics:
        pattern = options.topics_pattern.text if options.topics_pattern else ""
        raise TopicNotFoundError(
            f"option 'topicsPattern' matches no topic: expected at least one topic that matches {pattern!r}, got none. "
            f"A namespace of letters, digits and - = : . _ is plain text, not a pattern; use a pattern that "
            f"matches whole names, for example 'persistent://public/default/orders-.*'"
        )
    return topics
