"""The cache of schema versions in a worker process."""

import threading
import time
from dataclasses import replace
from typing import Any

from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.read.task.schema_cache import Incarnation, SchemaVersions
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

TOPIC = TopicName.parse("orders")
V1, V2 = b"1", b"2"
INFO = SchemaInfo("x", SchemaType.AVRO, b"{}")


def incarnation(**others: Any) -> Incarnation:
    return replace(Incarnation("a", TOPIC, 7, INFO), **others)


class Registry:
    def __init__(self, answer: SchemaInfo | None = INFO) -> None:
        self.answer = answer
        self.asked: list[tuple[TopicName, bytes]] = []

    def request(self, topic: TopicName, version: bytes) -> SchemaInfo | None:
        time.sleep(0.01)
        self.asked.append((topic, version))
        return self.answer


def test_each_version_is_requested_once() -> None:
    registry, versions = Registry(), SchemaVersions()

    def fetch_all() -> None:
        for version in (V1, V2):
            assert versions.fetch(incarnation(), version, registry.request) is INFO

    threads = [threading.Thread(target=fetch_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(registry.asked) == [(TOPIC, V1), (TOPIC, V2)]


def test_another_role_topic_incarnation_or_planned_schema_needs_another_request() -> None:
    registry, versions = Registry(), SchemaVersions()
    others = {"identity": "b", "topic": TopicName.parse("other"), "ledger": 8, "planned": None}
    for other in ({}, *({name: value} for name, value in others.items())):
        for _ in range(2):
            versions.fetch(incarnation(**other), V1, registry.request)
    assert len(registry.asked) == 5


def test_a_missing_version_is_not_remembered() -> None:
    registry, versions = Registry(None), SchemaVersions()
    for _ in range(2):
        assert versions.fetch(incarnation(), V1, registry.request) is None
    assert len(registry.asked) == 2


def test_the_least_recently_used_version_is_dropped_first() -> None:
    registry, versions = Registry(), SchemaVersions(most=2)
    for version in (b"1", b"2", b"1", b"3", b"1", b"2"):
        versions.fetch(incarnation(), version, registry.request)
    assert [version for _, version in registry.asked] == [b"1", b"2", b"3", b"2"]


def test_the_cache_has_a_limit_of_bytes() -> None:
    registry = Registry(SchemaInfo("x", SchemaType.AVRO, b"-" * 100))
    versions = SchemaVersions(most_bytes=250)
    for version in (b"1", b"2", b"3", b"3", b"2", b"1"):
        versions.fetch(incarnation(), version, registry.request)
    assert [version for _, version in registry.asked] == [b"1", b"2", b"3", b"1"]
