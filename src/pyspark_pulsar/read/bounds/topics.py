"""From the topic options to the topic partitions that exist now. Driver only."""

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
    """The topics that the options name, sorted; a pattern's matches as they exist now.

    A name may be that of one partition (`x-partition-2`). Raises `TopicNameError`, `OptionError`, and the errors of
    `pattern_namespaces`; a pattern that matches nothing gives an empty list.
    """
    pattern = options.topics_pattern
    if pattern is None:
        return named_topics(options)
    listings = client.listings(dict.fromkeys(pattern_namespaces(pattern, options)))
    return _whole_topics(client, matching(pattern, listings.values()))


def named_topics(options: ReadOptions) -> list[TopicName]:
    """The topics of `topic` or `topics`, sorted. Raises `TopicNameError`, and `OptionError` for topics that cannot be
    read, or not with these options."""
    texts = options.topics if options.topics is not None else (options.topic or "",)
    topics = sorted({TopicName.parse(text, scalable=True) for text in texts})
    for topic in topics:
        if topic.is_scalable:
            refuse_for_scalable(options, topic)
        elif not topic.is_persistent:
            raise OptionError(
                f"topic {topic} is not persistent: expected a persistent topic. This one keeps no message and gives "
                f"none a position: what a task has lost could not be read again ("
                f"{page('streaming', 'Non-persistent topics')}); make it persistent"
            )
    return topics


def pattern_namespaces(
    pattern: TopicPattern, options: ReadOptions, admin: AdminClient | None = None
) -> list[Namespace]:
    """The namespaces in which the pattern can have matches. Only the admin REST API lists those of a tenant (brokers do
    not): raises `OptionError` without `admin.url` and `PermissionDenied` without the right, where the pattern
    speaks of more than one."""

    def of_tenant(tenant: str) -> tuple[Namespace, ...]:
        if admin is not None:
            return admin.namespaces.of_tenant(tenant)
        with AdminClient.for_planning(options) as opened:
            return opened.namespaces.of_tenant(tenant)

    if pattern.namespace is None and options.admin_url is None:
        raise OptionError(
            f"option 'admin.url' is missing: expected admin.url beside a pattern over several namespaces, "
            f"{pattern.text!r}; only the admin REST API lists the namespaces of a tenant. Or name one namespace "
            f"as plain text"
        )
    try:
        return pattern.namespaces(of_tenant)
    except PermissionDenied as fault:
        raise PermissionDenied(
            f"option 'topicsPattern': {pattern.text!r} is about several namespaces, and this role may not list those "
            f"of tenant {pattern.tenant}: {fault}. Or name one namespace as plain text, for which the broker is enough"
        ) from None


def matching(pattern: TopicPattern, listings: Iterable[TopicListing]) -> dict[TopicName, set[int]]:
    """The topics that match, and the partitions of each that a broker has listed (-1: the topic itself)."""
    topics: dict[TopicName, set[int]] = {}
    for listing in listings:
        for name in listing.names:
            topic = name.without_partition()
            if pattern.matches(topic):
                topics.setdefault(topic, set()).add(name.partition)
    return topics


def _whole_topics(client: BrokerClient, listed: Mapping[TopicName, set[int]]) -> list[TopicName]:
    """The topics of `matching`, sorted. Producers can call a topic like a partition of one that is not there, or has no
    partitions: such are among them by their own names."""
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
    """All partitions of the topics, sorted. Raises `TopicNotFoundError` for a topic that is gone."""
    partitions: set[TopicPartition] = set()
    for topic, found in present_topic_partitions(client, topics).items():
        if found is None:
            raise client.missing_topic(topic)
        partitions.update(found)
    return sorted(partitions)


def present_topic_partitions(
    client: BrokerClient, topics: Iterable[TopicName]
) -> dict[TopicName, list[TopicPartition] | None]:
    """The partitions, or the segments, of each topic now; None for one that does not exist."""
    asked = list(topics)
    layouts = present_layouts(client, asked)
    counts = client.present_partitions(topic for topic in asked if not topic.is_scalable)
    present: dict[TopicName, list[TopicPartition] | None] = dict.fromkeys(asked)
    present.update({topic: layout.partitions for topic, layout in layouts.items()})
    present.update(
        {topic: partitions_of(topic, count) for topic, count in counts.items() if count is not None}
    )
    return present


def partitions_of(topic: TopicName, count: int) -> list[TopicPartition]:
    """`count`: of partitions, 0 for a topic that is none, or that is one partition by its own name."""
    if count == 0:
        return [TopicPartition(topic.without_partition(), topic.partition)]
    return [TopicPartition(topic, index) for index in range(count)]


def require_topics(topics: list[TopicName], options: ReadOptions) -> list[TopicName]:
    """`topics`, which a new query needs at least one of for its schema. Raises `TopicNotFoundError`."""
    if not topics:
        pattern = options.topics_pattern.text if options.topics_pattern else ""
        raise TopicNotFoundError(
            f"option 'topicsPattern' matches no topic: expected at least one topic that matches {pattern!r}; the "
            f"whole name is matched, for example 'persistent://public/default/orders-.*', and a namespace of "
            f"letters, digits and - = : . _ alone is taken as it stands"
        )
    return topics
