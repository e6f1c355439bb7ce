"""Avro schemas whose columns hold everything that is in messages."""

import json
from typing import Any

import pytest
from unit.codec.raw_payloads import record

from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.schema.payload import PayloadSchema, for_reading, payload_schema, written_schema
from pyspark_pulsar.schema.whole_columns import columns_are_whole

EMPTY = record(name="E")
NULLS = record(("n", "null"), name="N")


def info_of(*fields: Any) -> SchemaInfo:
    return SchemaInfo("R", SchemaType.AVRO, json.dumps(record(*fields)).encode())


def is_whole(reader: SchemaInfo, written: SchemaInfo | None = None) -> bool:
    payload = for_reading(payload_schema(reader, topic="t"))
    own: PayloadSchema = written_schema(reader, topic="t")
    return columns_are_whole(payload, written_schema(written or reader, topic="t"), own)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("int", True),
        ("null", True),
        (["null", "int", "string"], True),
        ({"type": "map", "values": {"type": "array", "items": "int"}}, True),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, True),
        (record(("a", "int"), ("n", "null"), name="I"), True),
        ({"type": "long", "logicalType": "timestamp-nanos"}, False),
        # A table stores the presence of these.
        (EMPTY, True),
        (["null", EMPTY], True),
        (["null", "int", EMPTY], True),
        (["null", NULLS], True),
        ({"type": "map", "values": NULLS}, True),
        ({"type": "map", "values": "null"}, True),
        (record(("a", "int"), ("e", ["null", EMPTY]), name="I"), True),
    ],
)
def test_types(kind: Any, expected: bool) -> None:
    assert is_whole(info_of(("id", "int"), ("f", kind))) is expected


def test_a_record_without_columns_needs_no_bytes() -> None:
    # So the kernel keeps the payloads of its messages.
    assert is_whole(info_of(("n", "null")))


def test_another_schema() -> None:
    assert not is_whole(info_of(("a", "long")), info_of(("a", "int")))


@pytest.mark.parametrize("separated", [True, False])
def test_sides(separated: bool) -> None:
    def pair(key: SchemaInfo, value: SchemaInfo) -> SchemaInfo:
        return join(KeyValueSchemas(key, value, separated=separated))

    text, some, empty = SchemaInfo("", SchemaType.STRING), info_of(("a", "int")), info_of(("n", "null"))
    for one, other in ((text, some), (some, text), (text, empty), (empty, some)):
        assert is_whole(pair(one, other))
    assert not is_whole(pair(text, info_of(("a", "long"))), pair(text, some))


def plan(*fields: dict[str, Any]) -> PayloadSchema:
    nodes = [{"kind": "int32", "shape": "implicit", "packed": False, **field} for field in fields]
    return PayloadSchema(
        "protobuf", definition=json.dumps({"messages": [{"name": "M", "fields": nodes}], "enums": []})
    )


def test_a_protobuf_version_with_a_field_that_the_columns_lack() -> None:
    """A reader refuses all messages of a version with another type of its field, also those without the field."""
    own = plan({"name": "a", "number": 1}, {"name": "b", "number": 2})
    for written, expected in (
        (plan({"name": "x", "number": 1}), True),
        (plan({"name": "a", "number": 1}, {"name": "c", "number": 3}), False),
        (plan({"name": "a", "number": 1, "kind": "string"}), False),
        (plan({"name": "a", "number": 1, "shape": "repeated"}), False),
    ):
        assert columns_are_whole(own, written, own) is expected
        assert columns_are_whole(own, written, None)
