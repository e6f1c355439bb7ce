"""Documents of JSON schemas with the forms that their values have noted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyspark_pulsar.schema.avro.json_document import json_document, times_as_numbers
from pyspark_pulsar.schema.avro.to_arrow import record_schema

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
NOTED = {"type": "long", "logicalType": "timestamp-micros", "jsonForm": "instant-millis"}
DATE = {"type": "record", "name": "Date", "namespace": "java.util", "fields": []}
OLD = MILLIS | {"jsonForm": "number"}


def record(*types: Any, **more: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return {"type": "record", "name": "R", "namespace": "a.b", "fields": fields, **more}


def types_of(*types: Any) -> list[Any]:
    made = json_document(json.dumps(record(*types)))
    assert json_document(made) == made
    record_schema(made, where="the test")
    return [field["type"] for field in json.loads(made)["fields"]]


def test_moments_within_other_types() -> None:
    inner = record(MILLIS, name="Inner")
    assert types_of(["null", MILLIS], {"type": "array", "items": MILLIS}, {"type": "map", "values": MILLIS}, inner) == [
        ["null", NOTED],
        {"type": "array", "items": NOTED},
        {"type": "map", "values": NOTED},
        record(NOTED, name="Inner"),
    ]  # fmt: skip


def test_a_class_that_is_defined_once_and_used_again() -> None:
    assert types_of(
        ["null", DATE], ["null", "java.util.Date"], {"type": "array", "items": "java.util.Date"}
    ) == [
        ["null", OLD],
        ["null", OLD],
        {"type": "array", "items": OLD},
    ]


def test_an_own_record_of_the_same_short_name_stays() -> None:
    own = {"type": "record", "name": "Date", "namespace": "my", "fields": [{"name": "x", "type": "int"}]}
    assert types_of(own, "my.Date") == [own, "my.Date"]


def test_an_optional_may_be_empty_where_the_document_says_no() -> None:
    kind = {"type": "record", "name": "OptionalInt", "namespace": "java.util", "fields": []}
    assert types_of(kind, ["null", "java.util.OptionalInt"]) == [["null", "int"], ["null", "int"]]


def test_what_only_a_key_of_a_map_defines_is_spelled_out_where_it_is_used() -> None:
    colour = {"type": "enum", "name": "Colour", "namespace": "a.b", "symbols": ["RED"]}
    pair = {
        "type": "record",
        "name": "Pair1",
        "namespace": "org.apache.avro.reflect",
        "fields": [{"name": "key", "type": colour}, {"name": "value", "type": MILLIS}],
    }
    again = {"type": "array", "items": "org.apache.avro.reflect.Pair1", "java-class": "java.util.Map"}
    assert types_of(
        {"type": "array", "items": pair, "java-class": "java.util.Map"}, "Colour", "Colour", again
    ) == [
        {"type": "map", "values": NOTED},
        colour | {"name": "a.b.Colour"},
        "Colour",
        {"type": "map", "values": NOTED},
    ]


def test_branches_of_a_union_of_several_types_have_no_form() -> None:
    union = ["null", MILLIS, "string"]
    assert types_of(union, ["null", DATE, record("int", name="Inner")]) == [
        union,
        ["null", DATE, record("int", name="Inner")],
    ]


def test_defaults_count_microseconds() -> None:
    document = record(name="R")
    document["fields"] = [
        {"name": "at", "type": [MILLIS, "null"], "default": 5},
        {"name": "list", "type": {"type": "array", "items": MILLIS}, "default": [5]},
        {"name": "number", "type": "long", "default": 5},
    ]
    made = json_document(json.dumps(document))
    assert json_document(made) == made
    assert [field["default"] for field in json.loads(made)["fields"]] == [5000, [5000], 5]


def test_times_as_numbers_are_those_of_the_document() -> None:
    kinds = [
        MILLIS,
        {"type": "int", "logicalType": "time-millis"},
        {"type": "int", "logicalType": "date"},
        {"type": "long", "logicalType": "local-timestamp-nanos"},
    ]
    made = times_as_numbers(json_document(json.dumps(record(*kinds, DATE))))
    assert [field["type"] for field in json.loads(made)["fields"]] == [*kinds, OLD]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "5",
        '"a"',
        '{"type":"record"}',
        '{"type":"record","name":"R","fields":5}',
        '{"type":"record","name":"R","fields":[5,{"name":"x"},{"name":"y","type":5}]}',
        '{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"array"}}]}',
        '{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"long","jsonForm":[]}}]}',
        "[" * 100_000,
    ],
)
def test_an_invalid_document_is_left_to_its_parser(text: str) -> None:
    assert json_document(text)


def test_a_document_that_unfolds_without_end_is_left_as_it_is() -> None:
    kind: Any = "int"
    for number in range(40):
        name = f"org.apache.avro.reflect.Pair{number}"
        fields = [{"name": "key", "type": kind}, {"name": "value", "type": "int"}]
        pair = {
            "type": "record",
            "name": f"Pair{number}",
            "namespace": "org.apache.avro.reflect",
            "fields": fields,
        }
        first = {"type": "array", "items": pair, "java-class": "java.util.Map"}
        kind = record(first, first | {"items": name}, name=f"R{number}")
    text = json.dumps(record(kind))
    assert json_document(text) == text
