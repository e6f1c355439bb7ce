"""The number of a stream's requests to find its topics at each trigger, and the topics that it finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from pyspark_pulsar.client.topic_list import TopicListing
from pyspark_pulsar.errors import OptionError, PermissionDenied, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition
from pyspark_pulsar.model.topic_layout import TopicLayout, TopicSegment
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.topic_pattern import TopicPattern
from pyspark_pulsar.read.microbatch.topics.stream_topics import TopicWatch

EU, US = Namespace("shop", "eu"), Namespace("shop", "us")


class Brokers:
    """Brokers that answer from a dictionary, and count the requests."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.topics = topics
        self.segments: dict[TopicName, TopicLayout] = {}
        self.asked_counts: list[str] = []
        self.sent_lists = 0

    def present_partitions(self, topics: Iterable[TopicName]) -> dict[TopicName, int | None]:
        wanted = list(topics)
        self.asked_counts += [str(each) for each in wanted]
        return {each: self.topics.get(str(each)) for each in wanted}

    def layouts(self, topics: Iterable[TopicName]) -> dict[TopicName, TopicLayout | None]:
        return {topic: self.segments.get(topic) for topic in topics}

    def listings(self, known: Mapping[Namespace, TopicListing | None]) -> dict[Namespace, TopicListing]:
        found = {}
        for namespace, former in known.items():
            names = frozenset(
                TopicName.parse(text if count == 0 else f"{text}-partition-{index}")
                for text, count in self.topics.items()
                for index in range(max(count, 1))
                if TopicName.parse(text).namespace == namespace
            )
            if former is not None and former.digest == str(sorted(map(str, names))):
                found[namespace] = former
            else:
                self.sent_lists += 1
                found[namespace] = TopicListing(names, str(sorted(map(str, names))))
        return found


class Admin:
    """A substitute for the admin client and its `namespaces`."""

    def __init__(self, *namespaces: Namespace) -> None:
        self.there = namespaces
        self.namespaces = self

    def of_tenant(self, tenant: str) -> tuple[Namespace, ...]:
        if tenant != "shop":
            raise PermissionDenied("no")
        return self.there


def watch(
    brokers: Brokers, admin: Admin | None = None, clock: Iterable[float] = (), **options: object
) -> TopicWatch:
    given = {"service_url": "pulsar://h:1", **options}
    if admin is not None:
        given["admin_url"] = "http://h:2"
    times = iter(clock)
    parsed = ReadOptions(**given)  # type: ignore[arg-type]
    return TopicWatch(brokers, admin, parsed, clock=lambda: next(times, 0.0))  # type: ignore[arg-type]


def names(found: Iterable[TopicPartition]) -> list[str]:
    return [each.name.removeprefix("persistent://shop/") for each in found]


def test_a_trigger_without_changes_requests_only_changes() -> None:
    brokers = Brokers(
        {f"persistent://shop/{place}/t{index}": 0 for place in ("eu", "us") for index in range(40)}
    )
    topics = watch(brokers, Admin(EU, US), topics_pattern=TopicPattern.parse("shop/.*/t.*"))
    first = topics.present()
    assert len(first.partitions) == 80
    assert (brokers.sent_lists, len(brokers.asked_counts)) == (2, 80)
    for _ in range(5):
        assert topics.present() is first
    assert (brokers.sent_lists, len(brokers.asked_counts)) == (2, 80)


def test_new_topics_and_partitions_and_namespaces_are_found() -> None:
    brokers = Brokers(
        {"persistent://shop/eu/t1": 0, "persistent://shop/eu/t2": 2, "persistent://shop/us/t9": 0}
    )
    admin = Admin(EU)
    topics = watch(brokers, admin, topics_pattern=TopicPattern.parse("shop/.*/t.*"))
    assert names(topics.present().partitions) == ["eu/t1", "eu/t2-partition-0", "eu/t2-partition-1"]
    brokers.topics["persistent://shop/eu/t2"] = 3
    brokers.topics["persistent://shop/eu/t3"] = 0
    brokers.topics["persistent://shop/eu/other"] = 0
    admin.there = (EU, US)
    brokers.asked_counts.clear()
    found = topics.present()
    assert names(found.partitions) == [
        "eu/t1", "eu/t2-partition-0", "eu/t2-partition-1", "eu/t2-partition-2", "eu/t3", "us/t9",
    ]  # fmt: skip
    assert [str(each) for each in found.topics] == [
        f"persistent://shop/{each}" for each in ("eu/t1", "eu/t2", "eu/t3", "us/t9")
    ]
    assert len(brokers.asked_counts) == 3


def test_a_deleted_topic_is_left_out_and_requested_once_more() -> None:
    brokers = Brokers({"persistent://shop/eu/t1": 0, "persistent://shop/eu/t2": 2})
    topics = watch(brokers, topics_pattern=TopicPattern.parse("shop/eu/t.*"))
    before = set(topics.present().partitions)
    del brokers.topics["persistent://shop/eu/t2"]
    after = set(topics.present().partitions)
    assert names(after) == ["eu/t1"]
    assert topics.deleted(before - after) == before - after
    brokers.topics["persistent://shop/eu/t2"] = 1
    assert names(topics.deleted(before - after)) == ["eu/t2-partition-1"]


def test_named_topics_are_looked_up_at_each_trigger() -> None:
    brokers = Brokers({"persistent://shop/eu/t1": 2})
    with pytest.raises(TopicNotFoundError, match="shop/eu/t2"):
        watch(brokers, topics=("shop/eu/t1", "shop/eu/t2")).present()
    brokers.topics["persistent://shop/eu/t2"] = 0
    topics = watch(brokers, topics=("shop/eu/t1", "shop/eu/t2"))
    assert names(topics.present().partitions) == ["eu/t1-partition-0", "eu/t1-partition-1", "eu/t2"]
    del brokers.topics["persistent://shop/eu/t1"]
    assert names(topics.present().partitions) == ["eu/t2"]


def test_topics_are_looked_up_once_per_interval() -> None:
    brokers = Brokers({"persistent://shop/eu/t1": 0})
    # The clock is read after each lookup, and before each lookup except the first.
    topics = watch(brokers, clock=(0.0, 59.0, 60.0, 60.0), topic="shop/eu/t1", discovery_interval_ms=60_000)
    for asked in (1, 1, 2):
        topics.present()
        assert len(brokers.asked_counts) == asked


def test_a_pattern_of_several_namespaces_requires_permission_to_list_them() -> None:
    brokers = Brokers({})
    with pytest.raises(OptionError, match=r"admin\.url"):
        watch(brokers, topics_pattern=TopicPattern.parse("shop/.*/t")).present()
    with pytest.raises(PermissionDenied, match="name one namespace as plain text"):
        watch(brokers, Admin(EU), topics_pattern=TopicPattern.parse("other/.*/t")).present()


def test_segments_of_scalable_topics_are_looked_up_at_each_trigger() -> None:
    topic = TopicName.parse("topic://shop/eu/orders", scalable=True)
    brokers = Brokers({"persistent://shop/eu/t1": 0})
    topics = watch(brokers, topics=("topic://shop/eu/orders", "persistent://shop/eu/t1"))
    with pytest.raises(TopicNotFoundError, match="topic://shop/eu/orders does not exist"):
        topics.present()
    whole = TopicSegment(0, 0, 0xFFFF, is_sealed=False)
    brokers.segments[topic] = TopicLayout(topic, (whole,))
    first = topics.present()
    assert names(first.partitions) == ["eu/t1", "segment://shop/eu/orders/0000-ffff-0"]
    assert first.layouts == (brokers.segments[topic],)
    assert first.topics == (TopicName.parse("persistent://shop/eu/t1"), topic)
    halves = (
        TopicSegment(1, 0, 0x7FFF, is_sealed=False, parents=(0,)),
        TopicSegment(2, 0x8000, 0xFFFF, is_sealed=False),
    )
    brokers.segments[topic] = TopicLayout(topic, halves)
    second = topics.present()
    assert second.layouts == (brokers.segments[topic],)
    gone = set(first.partitions) - set(second.partitions)
    assert topics.deleted(gone) == gone
    assert topics.deleted(set(second.partitions)) == set()
    del brokers.segments[topic]
    assert names(topics.present().partitions) == ["eu/t1"]
