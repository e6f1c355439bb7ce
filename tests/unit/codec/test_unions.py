"""Unions of several types: a struct with one member set, in Avro and in JSON, both ways."""

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from unit.codec.raw_payloads import TOPIC, WRITER, avro_bytes, decoded, entries, record, written
from unit.codec.sent_entries import entries_of

from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import DecodeError, SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

POINT = record(("x", "int"), ("y", ["null", "int"], None), name="n.Point")
SUIT = {"type": "enum", "name": "n.Suit", "symbols": ["HEARTS", "CLUBS"]}
LIST = {"type": "array", "items": "int"}
MAP = {"type": "map", "values": "long"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


def member(index: int, value: Any, count: int) -> dict[str, Any]:
    return {f"member{i}": value if i == index else None for i in range(count)}


def one(branches: list[Any]) -> dict[str, Any]:
    return record(("u", branches))


def json_row(document: dict[str, Any], text: str) -> Any:
    return decoded("JSON", document, entries(text.encode()))[0]["u"]


WHEREVER = record(
    ("u", ["int", "null", "string"]),
    ("list", {"type": "array", "items": ["string", "int", "null"]}),
    ("map", {"type": "map", "values": ["null", POINT, "long"]}),
    ("inner", record(("v", ["boolean", LIST]), name="Inner")),
    ("lone", ["int"]),
    ("deep", {"type": "array", "items": ["int", record(("w", ["null", "n.Point", "string"]), name="W")]}),
)
ROWS: list[dict[str, Any]] = [
    {
        "u": member(0, -3, 2),
        "list": [member(0, "a", 2), None, member(1, 7, 2)],
        "map": {"p": member(0, {"x": 1, "y": None}, 2), "n": None, "l": member(1, 2**40, 2)},
        "inner": {"v": member(0, True, 2)},
        "lone": 5,
        "deep": [
            member(0, 1, 2),
            member(1, {"w": member(0, {"x": 2, "y": 3}, 2)}, 2),
            member(1, {"w": member(1, "w", 2)}, 2),
            member(1, {"w": None}, 2),
        ],
    },
    {
        "u": None,
        "list": [],
        "map": {},
        "inner": {"v": member(1, [1, 2], 2)},
        "lone": -5,
        "deep": [],
    },
]


def as_maps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "map": list(row["map"].items())} for row in rows]


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_unions_anywhere_are_read_back(kind: str) -> None:
    found, _ = written(kind, WHEREVER, as_maps(ROWS))
    assert decoded(kind, WHEREVER, found) == ROWS


def test_avro_is_what_fastavro_reads_and_writes() -> None:
    _, payloads = written("AVRO", WHEREVER, as_maps(ROWS))
    parsed = fastavro.parse_schema(WHEREVER)
    theirs = [fastavro.schemaless_reader(io.BytesIO(payload), parsed, None) for payload in payloads]
    assert theirs[0] == {
        "u": -3,
        "list": ["a", None, 7],
        "map": {"p": {"x": 1, "y": None}, "n": None, "l": 2**40},
        "inner": {"v": True},
        "lone": 5,
        "deep": [1, {"w": {"x": 2, "y": 3}}, {"w": "w"}, {"w": None}],
    }
    assert theirs[1] == {"u": None, "list": [], "map": {}, "inner": {"v": [1, 2]}, "lone": -5, "deep": []}
    again = [avro_bytes(WHEREVER, value) for value in theirs]
    assert decoded("AVRO", WHEREVER, entries(*again)) == ROWS


def test_json_is_what_jackson_writes_where_that_can_be_read_back() -> None:
    _, payloads = written("JSON", WHEREVER, as_maps(ROWS))
    assert json.loads(payloads[0]) == {
        "u": -3,
        "list": ["a", None, 7],
        "map": {"p": {"x": 1, "y": None}, "n": None, "l": 2**40},
        "inner": {"v": True},
        "lone": 5,
        "deep": [1, {"w": {"x": 2, "y": 3}}, {"w": "w"}, {"w": None}],
    }


# Branches, the member that is set, its value, and the JSON that we write for it.
WRITTEN = [
    (["int", "string"], 0, 5, "5"),
    (["int", "string"], 1, "5", '"5"'),
    (["int", "long"], 0, 5, '{"int":5}'),
    (["int", "long"], 1, 5, '{"long":5}'),
    (["long", "double"], 0, 5, "5"),
    (["long", "double"], 1, 5.0, "5.0"),
    (["float", "double"], 1, 5.0, '{"double":5.0}'),
    (["int", PRICE], 0, 5, '{"int":5}'),
    (["int", PRICE], 1, Decimal("5.00"), '{"bytes":5.00}'),
    (["boolean", PRICE], 1, Decimal("5.00"), "5.00"),
    (["string", "bytes"], 0, "x", '{"string":"x"}'),
    (["string", "bytes"], 1, b"x", '{"bytes":"eA=="}'),
    (["string", SUIT], 0, "CLUBS", '{"string":"CLUBS"}'),
    (["string", SUIT], 1, "CLUBS", '{"n.Suit":"CLUBS"}'),
    (["int", SUIT], 1, "CLUBS", '"CLUBS"'),
    (["string", "double"], 1, float("inf"), '{"double":"Infinity"}'),
    (["boolean", "double"], 1, float("inf"), '"Infinity"'),
    (["string", LIST], 1, [1], "[1]"),
    (["string", POINT], 1, {"x": 1, "y": None}, '{"x":1,"y":null}'),
    (["string", record(("string", "int"), name="Odd")], 1, {"string": 1}, '{"Odd":{"string":1}}'),
    (["string", MAP], 1, [("a", 1)], '{"a":1}'),
    (["string", MAP], 1, [("string", 1)], '{"map":{"string":1}}'),
    (["string", MAP], 1, [("string", 1), ("b", 2)], '{"string":1,"b":2}'),
    ([MAP, POINT], 0, [("x", 1)], '{"map":{"x":1}}'),
    ([MAP, POINT], 1, {"x": 1, "y": 2}, '{"n.Point":{"x":1,"y":2}}'),
    (
        ["int", {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}],
        1,
        "12121212-1212-1212-1212-121212121212",
        '"12121212-1212-1212-1212-121212121212"',
    ),
]


@pytest.mark.parametrize(("branches", "index", "value", "text"), WRITTEN)
def test_json_that_is_written_is_read_back(branches: list[Any], index: int, value: Any, text: str) -> None:
    row = {"u": member(index, value, len(branches))}
    found, payloads = written("JSON", one(branches), [row])
    assert payloads == [f'{{"u":{text}}}'.encode()]
    expected = dict(value) if branches[index] == MAP else value
    assert decoded("JSON", one(branches), found) == [{"u": member(index, expected, len(branches))}]


@pytest.mark.parametrize(
    ("branches", "text", "index", "value"),
    [
        # Avro's JSON encoding, and what others make of it.
        (["int", "string"], '{"int": 5}', 0, 5),
        (["int", "string"], '{"string": "5"}', 1, "5"),
        (["int", POINT], '{"n.Point": {"x": 1}}', 1, {"x": 1, "y": None}),
        (["int", POINT], '{"Point": {"x": 1}}', 1, {"x": 1, "y": None}),
        (["int", MAP], '{"map": {"int": 1}}', 1, {"int": 1}),
        (["int", LIST], '{"array": [1]}', 1, [1]),
        # Bare values: the first branch that fits.
        (["int", "long"], "5", 0, 5),
        (["int", "long"], "3000000000", 1, 3_000_000_000),
        (["double", "long"], "5", 1, 5),
        (["double", "long"], "5.5", 0, 5.5),
        (["double", "string"], "5", 0, 5.0),
        (["long", "string"], "5.0", 0, 5),
        ([SUIT, "string"], '"CLUBS"', 0, "CLUBS"),
        ([SUIT, "string"], '"STARS"', 1, "STARS"),
        (["bytes", "string"], '"eA=="', 0, b"x"),
        (["string", "double"], '"NaN"', 0, "NaN"),
        (["int", "double"], '"-Infinity"', 1, float("-inf")),
        ([record(("a", "int"), name="A"), POINT], '{"x": 1}', 1, {"x": 1, "y": None}),
        ([record(("a", "int"), name="A"), "int"], '{"new": 1, "a": 2}', 0, {"a": 2}),
        ([POINT, MAP], '{"z": 1}', 1, {"z": 1}),
    ],
)
def test_json_of_others(branches: list[Any], text: str, index: int, value: Any) -> None:
    assert json_row(one(branches), f'{{"u": {text}}}') == member(index, value, len(branches))


@pytest.mark.parametrize("text", ['{"u": null}', "{}"])
def test_json_null_or_absent(text: str) -> None:
    assert json_row(one(["null", "int", "string"]), text) is None


@pytest.mark.parametrize(
    ("branches", "text"),
    [
        (["int", "string"], "true"),
        (["int", "string"], "1.5"),
        (["int", "string"], "[]"),
        (["int", "string"], '{"long": 5}'),
        (["int", "string"], '{"int": "x"}'),
        (["int", "string"], '{"int": null}'),
        (["int", "string"], '{"int": 1, "string": "x"}'),
        (["int", "boolean"], '"x"'),
    ],
)
def test_json_that_fits_no_branch(branches: list[Any], text: str) -> None:
    with pytest.raises(DecodeError, match="entry 0, batch index 1"):
        decoded("JSON", one(branches), entries(None, f'{{"u": {text}}}'.encode()))


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
@pytest.mark.parametrize(
    ("branches", "value", "said"),
    [
        (
            ["int", "string"],
            {"member0": 1, "member1": "x"},
            "field u: expected one member.*member0 and member1",
        ),
        (["int", "string"], {"member0": None, "member1": None}, "got none; the schema does not allow null"),
        (["int", "string"], None, "got null; the schema does not allow null"),
        (["null", "int", "string"], {"member0": 1, "member1": "x"}, "member0 and member1"),
        (["int", SUIT], {"member0": None, "member1": "STARS"}, "field u.*STARS"),
    ],
)
def test_rows_that_cannot_be_written(kind: str, branches: list[Any], value: Any, said: str) -> None:
    good = {"u": member(0, 1, 2)}
    with pytest.raises(SchemaError, match=f"row 1 of the record batch: .*{said}"):
        written(kind, one(branches), [good, {"u": value}])


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_no_member_is_null_where_null_is_a_branch(kind: str) -> None:
    document = one(["int", "string", "null"])
    found, payloads = written(kind, document, [{"u": None}, {"u": {"member0": None, "member1": None}}])
    assert payloads[0] == payloads[1] == (b"\x04" if kind == "AVRO" else b'{"u":null}')
    assert decoded(kind, document, found) == [{"u": None}, {"u": None}]


def test_default_of_a_union_is_written_for_a_missing_column() -> None:
    document = record(("a", "int"), ("u", ["null", "int", "string"], None), ("v", ["int", "string"], 7))
    info = SchemaInfo("R", SchemaType.AVRO, json.dumps(document).encode())
    schema = resolve_write_schema(pa.schema([("a", pa.int32())]), info, topic=TOPIC)
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=WRITER)
    sent = encoder.encode(pa.record_batch([pa.array([1], pa.int32())], names=["a"]), 1)
    assert decoded("AVRO", document, entries_of(sent)) == [{"a": 1, "u": None, "v": member(0, 7, 2)}]
