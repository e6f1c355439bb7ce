import json
import logging

import pytest

from pyspark_pulsar.errors import ConnectionFailed, SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.read.microbatch.topics.schemas import CHECK_AGAIN_SECONDS, TOPICS_PER_CHECK, SchemaWatch
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema


def version(number: int, kind: SchemaType = SchemaType.AVRO, **fields: str) -> SchemaInfo:
    document = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    return SchemaInfo("x", kind, json.dumps(document).encode(), version=number.to_bytes(8, "big"))


FIRST = version(0, id="int", old="string")
A, B = TopicName.parse("a"), TopicName.parse("b")


class Registry:
    """A registry with fixed answers, and the requests it received."""

    def __init__(self, **schemas: SchemaInfo | None) -> None:
        self.schemas = {TopicName.parse(name): info for name, info in schemas.items()}
        self.requested: list[TopicName] = []
        self.now = 0.0

    def latest_schema(self, topic: TopicName) -> SchemaInfo | None:
        self.requested.append(topic)
        return self.schemas[topic]

    def watch(self) -> SchemaWatch:
        return SchemaWatch(resolve_read_schema(FIRST, topic="t"), self.latest_schema, lambda: self.now)


def test_a_new_version_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(a=FIRST)
    watch = registry.watch()
    for _ in range(5):
        watch.check([A])
    assert registry.requested == []
    registry.schemas[A] = version(3, id="long", new="string")
    for _ in range(3):
        registry.now += CHECK_AGAIN_SECONDS
        watch.check([A])
    assert registry.requested == [A] * 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "topic persistent://public/default/a has a new schema, version 3: new fields: new string; removed fields: "
        "old; changed types: id int to bigint. The query continues with the columns that it started with; the next "
        "start will use the new ones."
    )


def test_a_topic_that_is_found_later_is_checked(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(a=FIRST, b=None)
    watch = registry.watch()
    watch.check([A])
    for _ in range(2):
        watch.check([A, B])
    assert registry.requested == [B, B], "requested again while it has none"
    registry.schemas[B] = FIRST
    for _ in range(2):
        watch.check([A, B])
    assert registry.requested == [B, B, B]
    assert not caplog.records


@pytest.mark.parametrize("other", [SchemaInfo("x", SchemaType.INT64), version(0, SchemaType.JSON, id="int")])
def test_a_topic_of_another_type_stops_the_query(other: SchemaInfo) -> None:
    registry = Registry(a=FIRST, b=other)
    watch = registry.watch()
    watch.check([A])
    with pytest.raises(
        SchemaError, match=r"topic .*/b, which the query has just found: expected .*AVRO R\(id, old\)"
    ):
        watch.check([A, B])


def test_many_topics_are_checked_in_turn() -> None:
    names = [f"t{n}" for n in range(2 * TOPICS_PER_CHECK + 10)]
    registry = Registry(**dict.fromkeys(names, FIRST))
    watch = registry.watch()
    for _ in range(3):
        before = len(registry.requested)
        registry.now += CHECK_AGAIN_SECONDS
        watch.check(registry.schemas)
        assert len(registry.requested) - before <= TOPICS_PER_CHECK
    assert sorted(registry.requested) == sorted(registry.schemas)


def test_a_silent_registry_does_not_stop_the_query(caplog: pytest.LogCaptureFixture) -> None:
    def latest_schema(topic: TopicName) -> SchemaInfo | None:
        raise ConnectionFailed("no answer")

    now = [0.0]
    watch = SchemaWatch(resolve_read_schema(FIRST, topic="t"), latest_schema, lambda: now[0])
    watch.check([A])
    now[0] += CHECK_AGAIN_SECONDS
    watch.check([A])
    assert "looking up the schema failed: no answer" in caplog.text


def test_bytes_have_no_schema_to_watch() -> None:
    registry = Registry(b=FIRST)
    watch = SchemaWatch(resolve_read_schema(None, topic="t"), registry.latest_schema, lambda: registry.now)
    watch.check([A])
    registry.now += CHECK_AGAIN_SECONDS
    watch.check([A, B])
    assert registry.requested == []


def optional(number: int, kind: SchemaType = SchemaType.AVRO, **fields: str) -> SchemaInfo:
    """Return a `version` whose record is named after its topic."""
    members = [{"name": n, "type": ["null", t], "default": None} for n, t in fields.items()]
    document = {"type": "record", "name": f"topic_{number}", "fields": members}
    return SchemaInfo("x", kind, json.dumps(document).encode(), version=number.to_bytes(8, "big"))


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_topics_of_one_family_are_compared_by_their_union(
    kind: SchemaType, caplog: pytest.LogCaptureFixture
) -> None:
    started, older = optional(0, kind, id="long", tag="string"), optional(1, kind, id="int")
    registry = Registry(a=started, b=older)
    watch = SchemaWatch(resolve_read_schema(started, topic="t"), registry.latest_schema, lambda: registry.now)
    watch.check([A, B])
    registry.now += CHECK_AGAIN_SECONDS
    watch.check([A, B])
    assert sorted(registry.requested) == [A, B]
    assert not caplog.records, "columns that the query already reads are not logged"
    c, d = TopicName.parse("c"), TopicName.parse("d")
    registry.schemas |= {c: older, d: optional(2, kind, id="long", level="int")}
    watch.check([A, B, c, d])
    (record,) = caplog.records
    assert "default/d has a new schema, version 2: new fields: level int." in record.getMessage()


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_a_topic_that_does_not_resolve_stops_the_query(
    kind: SchemaType, caplog: pytest.LogCaptureFixture
) -> None:
    started, other = optional(0, kind, id="long", tag="string"), optional(1, kind, id="long", tag="int")
    registry = Registry(a=started, b=other)
    watch = SchemaWatch(resolve_read_schema(started, topic="t"), registry.latest_schema, lambda: registry.now)
    watch.check([A])
    why = (
        "field tag is string in the schema that the query started with, int in persistent://public/default/b"
    )
    with pytest.raises(SchemaError, match=why):
        watch.check([A, B])
    # With another `mode`, its messages are bad rows.
    lenient = SchemaWatch(
        resolve_read_schema(started, topic="t"),
        registry.latest_schema,
        lambda: registry.now,
        skips_bad_rows=True,
    )
    lenient.check([A])
    lenient.check([A, B])
    assert why in caplog.text


def test_a_topic_with_wider_types_than_the_initial_schema_stops_the_query() -> None:
    """The topics would form one table, but not with the schema of the running query."""
    narrow = optional(0, id="int")
    registry = Registry(a=narrow, b=optional(1, id="long"))
    watch = SchemaWatch(resolve_read_schema(narrow, topic="t"), registry.latest_schema, lambda: registry.now)
    watch.check([A])
    with pytest.raises(SchemaError, match=r"topic .*/b, which .* field id: .*; restart the query"):
        watch.check([A, B])
