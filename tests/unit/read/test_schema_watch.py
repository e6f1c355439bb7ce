import json
import logging

import pytest

from pyspark_pulsar.errors import ConnectionFailed, SchemaError
from pyspark_pulsar.read.schema_watch import LOOK_AGAIN_SECONDS, TOPICS_PER_LOOK, SchemaWatch
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.topic import TopicName


def version(number: int, kind: SchemaType = SchemaType.AVRO, **fields: str) -> SchemaInfo:
    document = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    return SchemaInfo("x", kind, json.dumps(document).encode(), version=number.to_bytes(8, "big"))


FIRST = version(0, id="int", old="string")
A, B = TopicName.parse("a"), TopicName.parse("b")


class Registry:
    """What the broker would answer, and what it was asked."""

    def __init__(self, **schemas: SchemaInfo | None) -> None:
        self.schemas = {TopicName.parse(name): info for name, info in schemas.items()}
        self.asked: list[TopicName] = []
        self.now = 0.0

    def ask(self, topic: TopicName) -> SchemaInfo | None:
        self.asked.append(topic)
        return self.schemas[topic]

    def watch(self) -> SchemaWatch:
        return SchemaWatch(resolve_read_schema(FIRST, topic="t"), self.ask, lambda: self.now)


def test_a_new_version_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(a=FIRST)
    watch = registry.watch()
    for _ in range(5):
        watch.look([A])
    assert registry.asked == []
    registry.schemas[A] = version(3, id="long", new="string")
    for _ in range(3):
        registry.now += LOOK_AGAIN_SECONDS
        watch.look([A])
    assert registry.asked == [A] * 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "topic persistent://public/default/a has a new schema, version 3: new fields: new string; removed fields: "
        "old; changed types: id int to bigint. The query goes on with the columns that it started with; the next "
        "start will see the new ones."
    )


def test_a_topic_found_later(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(a=FIRST, b=None)
    watch = registry.watch()
    watch.look([A])
    for _ in range(2):
        watch.look([A, B])
    assert registry.asked == [B, B], "asked again while it has none"
    registry.schemas[B] = FIRST
    for _ in range(2):
        watch.look([A, B])
    assert registry.asked == [B, B, B]
    assert not caplog.records


@pytest.mark.parametrize("other", [SchemaInfo("x", SchemaType.INT64), version(0, SchemaType.JSON, id="int")])
def test_a_topic_of_another_type_stops_the_query(other: SchemaInfo) -> None:
    registry = Registry(a=FIRST, b=other)
    watch = registry.watch()
    watch.look([A])
    with pytest.raises(
        SchemaError, match=r"topic .*/b, which the query has just found: expected .*AVRO R\(id, old\)"
    ):
        watch.look([A, B])


def test_many_topics_are_looked_at_in_turn() -> None:
    names = [f"t{n}" for n in range(2 * TOPICS_PER_LOOK + 10)]
    registry = Registry(**dict.fromkeys(names, FIRST))
    watch = registry.watch()
    for _ in range(3):
        before = len(registry.asked)
        registry.now += LOOK_AGAIN_SECONDS
        watch.look(registry.schemas)
        assert len(registry.asked) - before <= TOPICS_PER_LOOK
    assert sorted(registry.asked) == sorted(registry.schemas)


def test_a_silent_registry_does_not_stop_the_query(caplog: pytest.LogCaptureFixture) -> None:
    def ask(topic: TopicName) -> SchemaInfo | None:
        raise ConnectionFailed("no answer")

    now = [0.0]
    watch = SchemaWatch(resolve_read_schema(FIRST, topic="t"), ask, lambda: now[0])
    watch.look([A])
    now[0] += LOOK_AGAIN_SECONDS
    watch.look([A])
    assert "cannot be looked up: no answer" in caplog.text


def test_bytes_have_no_schema_to_watch() -> None:
    registry = Registry(b=FIRST)
    watch = SchemaWatch(resolve_read_schema(None, topic="t"), registry.ask, lambda: registry.now)
    watch.look([A])
    registry.now += LOOK_AGAIN_SECONDS
    watch.look([A, B])
    assert registry.asked == []
