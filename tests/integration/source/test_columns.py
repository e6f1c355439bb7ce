"""Typed columns: messages of the official clients in each schema, cell by cell in Spark."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import struct
from decimal import Decimal
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient
from pulsar.schema import (
    Array,
    AvroSchema,
    Boolean,
    Double,
    Float,
    Integer,
    JsonSchema,
    Long,
    Map,
    Record,
    String,
    StringSchema,
)


def float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


PRIMITIVES: dict[str, tuple[str, list[Any]]] = {
    "BOOLEAN": ("boolean", [True, False]),
    "INT8": ("tinyint", [-128, 0, 127]),
    "INT16": ("smallint", [-(2**15), 0, 2**15 - 1]),
    "INT32": ("int", [-(2**31), -1, 0, 2**31 - 1]),
    "INT64": ("bigint", [-(2**63), -1, 0, 2**63 - 1]),
    "FLOAT": ("float", [0.0, -1.5, float32(3.4e38), float32(1e-45), math.inf]),
    "DOUBLE": ("double", [0.0, -1.5, 1.7976931348623157e308, 5e-324, -math.inf]),
    "STRING": ("string", ["", "a", "東京", "\U0001f980"]),
}


def java_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace("inf", "Infinity") if isinstance(value, float) else str(value)


def test_primitives_of_the_java_client(topic: str, java_client: JavaClient, read_topic: ReadTopic) -> None:
    java_client.run(
        *[
            {"do": "produce", "topic": f"{topic}-{kind}", "schema": kind, "batching": kind != "INT32",
             "messages": [{"value": java_text(each)} for each in values] + [{"value": None}]}
            for kind, (_, values) in PRIMITIVES.items()
        ]
    )  # fmt: skip
    for kind, (spark_type, values) in PRIMITIVES.items():
        frame = read_topic(f"{topic}-{kind}").select("value")
        assert dict(frame.dtypes) == {"value": spark_type}
        assert [row.value for row in frame.collect()] == [*values, None]


def test_strings_of_the_python_client(
    topic: str, official: official_client.Client, read_topic: ReadTopic
) -> None:
    producer = official.create_producer(topic, schema=StringSchema())
    for text in ("", "a", "Zürich"):
        producer.send(text)
    producer.close()
    assert [row.value for row in read_topic(topic).collect()] == ["", "a", "Zürich"]


class Colour(enum.Enum):
    RED = "RED"
    DARK_BLUE = "DARK_BLUE"


class Point(Record):
    x = Double(required=True)
    label = String()


class Line(Record):
    start = Point()
    note = String()


class Everything(Record):
    flag = Boolean()
    small = Integer(required=True)
    large = Long()
    single = Float()
    double = Double()
    text = String()
    required_text = String(required=True)
    colour = Colour
    point = Point()
    line = Line()
    numbers = Array(Long())
    points = Array(Point())
    lists = Array(Array(Integer()))
    by_name = Map(Double())
    points_by_name = Map(Point())


EVERYTHING: list[dict[str, Any]] = [
    {
        "flag": True, "small": -(2**31), "large": 2**63 - 1, "single": 0.5, "double": 1e300, "text": "東京",
        "required_text": "", "colour": "DARK_BLUE", "point": {"x": 1.5, "label": "p"},
        "line": {"start": {"x": -0.0, "label": None}, "note": "n"}, "numbers": [1, -2, 2**40],
        "points": [{"x": 1.0, "label": None}, {"x": 2.0, "label": "\U0001f980"}], "lists": [[1, 2], [], [3]],
        "by_name": {"a": 1.0, "ü": -2.5}, "points_by_name": {"p": {"x": 3.0, "label": "q"}},
    },
    {"small": 0, "required_text": "only the required ones"},
    {"small": 2, "required_text": "empty", "numbers": [], "points": [], "lists": [], "by_name": {}, "text": ""},
]  # fmt: skip

TYPES = {
    "flag": "boolean", "small": "int", "large": "bigint", "single": "float", "double": "double", "text": "string",
    "required_text": "string", "colour": "string", "point": "struct<x:double,label:string>",
    "line": "struct<start:struct<x:double,label:string>,note:string>", "numbers": "array<bigint>",
    "points": "array<struct<x:double,label:string>>", "lists": "array<array<int>>", "by_name": "map<string,double>",
    "points_by_name": "map<string,struct<x:double,label:string>>",
}  # fmt: skip


def record(row: dict[str, Any]) -> Everything:
    """Return the official client's object, which needs records and enums as objects."""
    nested: dict[str, Any] = {"point": None, "line": None} | row
    if row.get("point"):
        nested["point"] = Point(**row["point"])
    if row.get("line"):
        nested["line"] = Line(start=Point(**row["line"]["start"]), note=row["line"]["note"])
    if row.get("points"):
        nested["points"] = [Point(**each) for each in row["points"]]
    if row.get("points_by_name"):
        nested["points_by_name"] = {name: Point(**each) for name, each in row["points_by_name"].items()}
    if row.get("colour"):
        nested["colour"] = Colour[row["colour"]]
    return Everything(**nested)


@pytest.mark.parametrize("schema", [AvroSchema, JsonSchema], ids=["avro", "json"])
@pytest.mark.parametrize("batched", [True, False], ids=["batched", "unbatched"])
def test_records_of_the_python_client(
    schema: Any, batched: bool, topic: str, official: official_client.Client, read_topic: ReadTopic
) -> None:
    producer = official.create_producer(topic, schema=schema(Everything), batching_enabled=batched)
    for row in EVERYTHING * 3:
        producer.send_async(record(row), callback=lambda *_: None)
    producer.flush()
    producer.close()
    frame = read_topic(topic).select(*TYPES)
    assert dict(frame.dtypes) == TYPES
    blank = dict.fromkeys(TYPES) | {"flag": False}  # The default is the official client's own for a Boolean.
    assert [row.asDict(recursive=True) for row in frame.collect()] == [blank | row for row in EVERYTHING * 3]


def test_value_columns_come_first_and_metadata_columns_last(
    topic: str, official: official_client.Client, read_topic: ReadTopic
) -> None:
    official.create_producer(topic, schema=AvroSchema(Everything)).close()
    frame = read_topic(topic)
    metadata = ["__key", "__topic", "__messageId", "__publishTime", "__eventTime", "__messageProperties"]
    assert frame.columns == [*TYPES, *metadata]
    assert frame.count() == 0


LOGICAL = {
    "type": "record",
    "name": "Logical",
    "fields": [
        {"name": "millis", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 6}},
        {"name": "cents", "type": {"type": "fixed", "name": "F", "size": 5, "logicalType": "decimal",
                                   "precision": 10, "scale": 2}},
        {"name": "raw", "type": "bytes"},
        {"name": "sum", "type": [{"type": "fixed", "name": "Md5", "size": 4}, "null"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "tags", "type": {"type": "map", "values": ["null", "string"]}},
    ],
}  # fmt: skip

LOGICAL_ROWS: list[dict[str, Any]] = [
    {
        "millis": dt.datetime(2026, 11, 21, 3, 1, 43, 82_000, dt.UTC),
        "micros": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC),
        "local": dt.datetime(2026, 2, 28, 12, 0, 0, 1),  # noqa: DTZ001
        "day": dt.date(1960, 2, 29), "price": Decimal("-12345678901234567890123456789012.345678"),
        "cents": Decimal("-99999999.99"), "raw": b"\x00\xff", "sum": b"abcd", "kind": "B", "tags": {"a": None, "b": ""},
    },
    {
        "millis": None, "micros": dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, dt.UTC), "local": None, "day": None,
        "price": Decimal("0.000001"), "cents": Decimal("0.01"), "raw": b"", "sum": None, "kind": "A", "tags": {},
    },
]  # fmt: skip


def test_avro_logical_types(topic: str, official: official_client.Client, read_topic: ReadTopic) -> None:
    producer = official.create_producer(topic, schema=AvroSchema(None, schema_definition=LOGICAL))
    for row in LOGICAL_ROWS:
        producer.send(row)
    producer.close()
    frame = read_topic(topic).drop(*[name for name in read_topic(topic).columns if name.startswith("__")])
    assert dict(frame.dtypes) == {
        "millis": "timestamp", "micros": "timestamp", "local": "timestamp_ntz", "day": "date",
        "price": "decimal(38,6)", "cents": "decimal(10,2)", "raw": "binary", "sum": "binary", "kind": "string",
        "tags": "map<string,string>",
    }  # fmt: skip
    # The rows are read as Arrow, because collect() would turn instants into local times of this machine.
    assert frame.toArrow().to_pylist(maps_as_pydicts="strict") == LOGICAL_ROWS


def test_json_logical_types_are_numbers_in_their_units(
    topic: str, official: official_client.Client, admin: Admin, read_topic: ReadTopic
) -> None:
    """Integer columns count the unit that the document names."""
    fields = [each for each in LOGICAL["fields"] if each["name"] in ("millis", "micros", "day")]  # type: ignore[index]
    admin.create(topic)
    admin.register(topic, "JSON", json.dumps(LOGICAL | {"fields": fields}))
    producer = official.create_producer(topic)
    producer.send(b'{"millis":1795230103082,"micros":-1,"day":-3594,"unknown":{"a":[1]}}')
    producer.send(b'{"micros":0,"millis":null}')
    producer.close()
    rows = read_topic(topic).select("millis", "micros", "day").toArrow().to_pylist()
    assert rows == [
        {
            "millis": dt.datetime(2026, 11, 21, 3, 1, 43, 82_000, dt.UTC),
            "micros": LOGICAL_ROWS[0]["micros"],
            "day": dt.date(1960, 2, 29),
        },
        {"millis": None, "micros": dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "day": None},
    ]


@pytest.mark.parametrize("schema", [AvroSchema, JsonSchema], ids=["avro", "json"])
def test_messages_of_an_older_schema_version(
    schema: Any, topic: str, official: official_client.Client, admin: Admin, read_topic: ReadTopic
) -> None:
    added = {"name": "tag", "type": ["null", "string"], "default": None}
    first = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
    second = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, added]}
    kind = "AVRO" if schema is AvroSchema else "JSON"
    admin.create(topic)
    rows = [{"id": 1}, {"id": 2**40, "tag": "new"}]
    for document, row in zip((first, second), rows, strict=True):
        admin.register(topic, kind, json.dumps(document))
        if schema is AvroSchema:
            producer = official.create_producer(topic, schema=AvroSchema(None, schema_definition=document))
            producer.send(row)
        else:
            producer = official.create_producer(topic)
            producer.send(json.dumps(row).encode())
        producer.close()
    found = read_topic(topic).select("id", "tag").collect()
    assert [tuple(row) for row in found] == [(1, None), (2**40, "new")]
