"""Which Avro schemas have columns that hold all that messages say."""

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
        # No table stores the struct of these.
        (EMPTY, False),
        (["null", EMPTY], False),
        (["null", "int", EMPTY], False),
        (["null", NULLS], False),
        ({"type": "map", "values": NULLS}, False),
        ({"type": "map", "values": "null"}, False),
        (record(("a", "int"), ("e", ["null", EMPTY]), name="I"), False),
    ],
)
def test_types(kind: Any, expected: bool) -> None:
    assert is_whole(info_of(("id", "int"), ("f", kind))) is expected


def test_a_record_without_a_column_takes_no_bytes() -> None:
    # So the kernel keeps the payloads of its messages.
    assert is_whole(info_of(("n", "null")))


def test_another_schema() -> None:
    assert not is_whole(info_of(("a", "long")), info_of(("a", "int")))


@pytest.mark.parametrize("separated", [True, False])
def test_sides(separated: bool) -> None:
    def pair(key: SchemaInfo, value: SchemaInfo) -> SchemaInfo:
        return join(KeyValueSchemas(key, value, separated=separated))

    text, some, empty = SchemaInfo("", SchemaType.STRING), info_of(("a", "int")), info_of(("n", "null"))
    assert is_whole(pair(text, some))
    assert is_whole(pair(some, text))
    assert not is_whole(pair(text, empty))
    assert not is_whole(pair(empty, some))
