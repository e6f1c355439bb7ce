"""A message of one schema read by another, as Avro's specification resolves them; written by fastavro."""

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from unit.codec.raw_payloads import TOPIC, WRITER, avro_bytes, decoded, entries, record, resolved, written

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import DecodeError, SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema

NOTHING = record(("keep", "int"))
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
PRICE_FIXED = {"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
SUIT = {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "CLUBS"]}
INNER = record(("x", "int"), ("y", "string", "of its own"), name="Inner")


def logical(base: str, meaning: str) -> dict[str, str]:
    return {"type": base, "logicalType": meaning}


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        (["null", "string"], None, None),
        ("boolean", True, True),
        ("int", -7, -7),
        ("long", 2**60, 2**60),
        ("float", 0.5, 0.5),
        ("double", 5, 5.0),
        ("string", "zü", "zü"),
        ("bytes", "\u0000\u00ff", b"\x00\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, "\u0000\u00ff", b"\x00\xff"),
        (
            {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
            "\u0012" * 16,
            "12121212-1212-1212-1212-121212121212",
        ),
        (PRICE, "\u00ff\u0085", Decimal("-1.23")),
        (PRICE_FIXED, "\u0000\u0000\u0004\u00e2", Decimal("12.50")),
        (SUIT, "CLUBS", "CLUBS"),
        ({"type": "array", "items": "int"}, [1, 2], [1, 2]),
        ({"type": "array", "items": "int"}, [], []),
        ({"type": "map", "values": "long"}, {"a": 1}, {"a": 1}),
        (INNER, {"x": 1}, {"x": 1, "y": "of its own"}),
        (["string", "null"], "first branch", "first branch"),
        (["string", "null"], None, None),  # Avro 1.12: any branch
        (["int", "string"], 3, {"member0": 3, "member1": None}),
        (["null", "int", "string"], "s", {"member0": None, "member1": "s"}),
        (logical("int", "date"), 1, dt.date(1970, 1, 2)),
        (logical("int", "time-millis"), 1, dt.time(0, 0, 0, 1000)),
        (logical("long", "timestamp-micros"), 1, dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC)),
    ],
)
def test_field_that_the_writer_lacks(kind: Any, default: Any, expected: Any) -> None:
    reader = record(("keep", "long"), ("added", kind, default))
    assert resolved(NOTHING, reader, {"keep": 1}, {"keep": 2}) == [
        {"keep": 1, "added": expected},
        {"keep": 2, "added": expected},
    ]


def test_default_below_an_array() -> None:
    old = record(("list", {"type": "array", "items": record(("x", "int"), name="I")}))
    new = record(
        ("list", {"type": "array", "items": record(("added", "string", "d"), ("x", "long"), name="I")})
    )
    assert resolved(old, new, {"list": [{"x": 1}, {"x": 2}]}) == [
        {"list": [{"added": "d", "x": 1}, {"added": "d", "x": 2}]}
    ]


def test_nullable_field_without_default_is_null() -> None:
    assert resolved(NOTHING, record(("added", ["null", "string"])), {"keep": 1}) == [{"added": None}]


@pytest.mark.parametrize(
    ("written", "read", "value", "expected"),
    [
        ("int", "long", -5, -5),
        ("int", "float", 5, 5.0),
        ("int", "double", -5, -5.0),
        ("long", "float", 5, 5.0),
        ("long", "double", 2**53, 2.0**53),
        ("float", "double", 0.5, 0.5),
        ("string", "bytes", "zü", "zü".encode()),
        ("bytes", "string", "zü".encode(), "zü"),
        (PRICE, "bytes", Decimal("-1.23"), b"\x85"),
        ("bytes", PRICE, b"\x85", Decimal("-1.23")),
        (PRICE, {**PRICE, "precision": 12, "scale": 4}, Decimal("-1.23"), Decimal("-1.2300")),
        (PRICE, {**PRICE, "precision": 12}, Decimal("-1.23"), Decimal("-1.23")),
        ("long", logical("long", "timestamp-millis"), 1, dt.datetime(1970, 1, 1, 0, 0, 0, 1000, dt.UTC)),
        (
            logical("long", "timestamp-millis"),
            logical("long", "timestamp-micros"),
            dt.datetime(2023, 11, 14, 1, 2, 3, 4000, dt.UTC),
            dt.datetime(2023, 11, 14, 1, 2, 3, 4000, dt.UTC),
        ),
        (
            logical("long", "timestamp-micros"),
            logical("long", "timestamp-millis"),
            dt.datetime(2023, 11, 14, 1, 2, 3, 4567, dt.UTC),
            dt.datetime(2023, 11, 14, 1, 2, 3, 4000, dt.UTC),
        ),
        (
            logical("int", "time-millis"),
            logical("long", "time-micros"),
            dt.time(1, 2, 3, 4000),
            dt.time(1, 2, 3, 4000),
        ),
        ("int", ["null", "double"], 1, 1.0),
        (["null", "int"], ["long", "null"], None, None),
        (["null", "int"], ["long", "null"], 3, 3),
        (["null", "int"], "long", 3, 3),
        (["int", "string"], ["null", "string", "double"], 3, {"member0": None, "member1": 3.0}),
        (["int", "string"], ["null", "string", "double"], "s", {"member0": "s", "member1": None}),
        (["int", "null", "string"], ["null", "string", "double"], None, None),
        (["int", "string"], "bytes", "s", b"s"),
        ("string", ["int", "string"], "s", {"member0": None, "member1": "s"}),
        ("int", ["string", "double", "long"], 3, {"member0": None, "member1": 3.0, "member2": None}),
        ({"type": "array", "items": "int"}, {"type": "array", "items": ["null", "long"]}, [1, 2], [1, 2]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "double"}, {"a": 1}, {"a": 1.0}),
        (["int"], "long", 3, 3),
        ("int", ["long"], 3, 3),
    ],
)
def test_type_that_changed(written: Any, read: Any, value: Any, expected: Any) -> None:
    assert resolved(record(("f", written)), record(("f", read)), {"f": value}) == [{"f": expected}]


def test_every_removed_type_is_passed_over() -> None:
    inner = record(("x", ["null", "int", "string"]), name="I")
    gone = [
        "null", "boolean", "int", "long", "float", "double", "bytes", "string",
        {"type": "fixed", "name": "F", "size": 3}, {"type": "enum", "name": "E", "symbols": ["A"]}, PRICE,
        {"type": "array", "items": inner}, {"type": "map", "values": "I"}, ["null", "I"], "I",
    ]  # fmt: skip
    values = [
        None, True, -1, 2**40, 0.5, 0.5, b"xy", "z", b"abc", "A", Decimal("1.00"),
        [{"x": 1}, {"x": "s"}, {"x": None}], {"k": {"x": "s"}}, None, {"x": 5},
    ]  # fmt: skip
    old = record(*((f"g{i}", kind) for i, kind in enumerate(gone)), ("keep", "int"))
    value = {f"g{i}": each for i, each in enumerate(values)} | {"keep": 9}
    assert resolved(old, NOTHING, value) == [{"keep": 9}]


def test_null_field_takes_no_bytes() -> None:
    document = record(("n", "null"), ("keep", "int"))
    assert resolved(document, document, {"n": None, "keep": 1}) == [{"n": None, "keep": 1}]
    assert decoded("JSON", document, entries(b'{"n":null,"keep":1}')) == [{"n": None, "keep": 1}]
    for kind in ("AVRO", "JSON"):
        found, _ = written(kind, document, [{"n": None, "keep": 1}])
        assert decoded(kind, document, found) == [{"n": None, "keep": 1}]


def test_blocks_with_a_size_are_read_and_passed_over() -> None:
    """Java's blocking encoder writes a negative count and the size of the block in bytes."""
    old = record(("list", {"type": "array", "items": "int"}), ("keep", "int"))
    payload = bytes([3, 4, 2, 4, 2, 6, 0, 18])  # -2 items in 2 bytes, 1 item, the end; keep = 9
    assert decoded("AVRO", old, entries(payload)) == [{"list": [1, 2, 3], "keep": 9}]
    assert decoded("AVRO", NOTHING, entries(payload), old) == [{"keep": 9}]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # Results of Avro's Java library: chains, swaps, and a name that another field has taken over.
        ([("b", ["a"]), ("c", ["b"])], {"b": 5, "c": 6}),
        ([("b", ["a"]), ("a", ["b"])], {"a": 6, "b": 5}),
        ([("x", ["a"]), ("y", ["a"])], {"x": None, "y": 5}),
        ([("a", []), ("x", ["a"])], {"a": None, "x": 5}),
    ],
)
def test_aliases_go_before_names(fields: list[tuple[str, list[str]]], expected: dict[str, Any]) -> None:
    old = record(("a", "int"), ("b", "int"))
    nullable = {"type": ["null", "int"], "default": None}
    new = record(*({"name": name, "aliases": aliases, **nullable} for name, aliases in fields))
    assert resolved(old, new, {"a": 5, "b": 6}) == [expected]


def test_messages_of_the_schema_itself_have_their_own_names() -> None:
    swapped = [{"name": one, "aliases": [other], "type": "int"} for one, other in ("ab", "ba")]
    assert resolved(record(*swapped), record(*swapped), {"a": 5, "b": 6}) == [{"a": 5, "b": 6}]


def test_names_of_a_union_that_were_swapped() -> None:
    def enums(*names: str, **aliases: list[str]) -> list[Any]:
        return [
            {"type": "enum", "name": name, "symbols": ["A", name], "aliases": aliases.get(name, [])}
            for name in names
        ]

    old = record(("e", enums("E", "F")), namespace="n")
    # Without its aliases, this schema would equal the messages' schema.
    new = record(("e", enums("E", "F", E=["n.F"], F=["E"])), ("x", "int", 0), namespace="n")
    assert resolved(old, new, {"e": ("n.E", "A")}, {"e": ("n.F", "A")}) == [
        {"e": {"member0": None, "member1": "A"}, "x": 0},
        {"e": {"member0": "A", "member1": None}, "x": 0},
    ]


def test_a_field_keeps_its_name_if_an_alias_would_duplicate_it() -> None:
    old = record(("a", "int"), ("b", "string"))
    new = record(
        {"name": "renamed", "type": "long", "aliases": ["other", "a"]},
        {"name": "b", "type": "string", "aliases": ["a"]},
    )
    assert resolved(old, new, {"a": 1, "b": "s"}) == [{"renamed": 1, "b": "s"}]


def test_types_are_matched_by_name_without_namespace_or_alias() -> None:
    old = record(
        ("e", {"type": "enum", "name": "Old", "namespace": "x.y", "symbols": ["A"]}),
        ("f", {"type": "fixed", "name": "x.y.Fix", "size": 1}),
        name="com.old.Event",
    )
    new = record(
        ("e", {"type": "enum", "name": "New", "aliases": ["z.Old"], "symbols": ["B", "A"]}),
        ("f", {"type": "fixed", "name": "Fix", "size": 1}),
        name="Changed",
    )
    assert resolved(old, new, {"e": "A", "f": b"x"}) == [{"e": "A", "f": b"x"}]


def test_records_of_a_union_are_matched_by_name_then_by_shape() -> None:
    cat = record(("name", "string"), name="Cat")
    dog = record(("name", "string"), name="Dog")
    fish = record(("fins", "int"), name="Fish")
    old = record(("pet", [dog, fish, cat]))
    assert resolved(
        old,
        record(("pet", [cat, dog, fish])),
        {"pet": ("Dog", {"name": "d"})},
        {"pet": ("Cat", {"name": "c"})},
        {"pet": ("Fish", {"fins": 3})},
    ) == [
        {"pet": {"member0": None, "member1": {"name": "d"}, "member2": None}},
        {"pet": {"member0": {"name": "c"}, "member1": None, "member2": None}},
        {"pet": {"member0": None, "member1": None, "member2": {"fins": 3}}},
    ]
    wolf = record(("name", "string"), name="Wolf")
    assert resolved(old, record(("pet", [fish, wolf])), {"pet": ("Dog", {"name": "d"})}) == [
        {"pet": {"member0": None, "member1": {"name": "d"}}}
    ]


def test_unknown_symbol_is_the_enum_default_or_an_error() -> None:
    old = record(("s", {**SUIT, "symbols": ["HEARTS", "STARS"]}))
    with_default = record(("s", {**SUIT, "default": "CLUBS"}))
    assert resolved(old, with_default, {"s": "STARS"}, {"s": "HEARTS"}) == [{"s": "CLUBS"}, {"s": "HEARTS"}]
    assert resolved(old, record(("s", SUIT)), {"s": "HEARTS"}) == [{"s": "HEARTS"}]
    with pytest.raises(DecodeError, match=r"batch index 1.*field s: expected one of .*CLUBS.*got \"STARS\""):
        resolved(old, record(("s", SUIT)), {"s": "HEARTS"}, {"s": "STARS"})


@pytest.mark.parametrize(
    ("written", "read", "said"),
    [
        ("long", "int", "field f: the writer's schema has long, the reader's int"),
        ("double", "float", "has double, the reader's float"),
        ("string", "int", "has string, the reader's int"),
        ("int", "boolean", "has int, the reader's boolean"),
        ("int", ["null", "string"], "has int, the reader's string"),
        ("int", ["string", "boolean"], "union of string, boolean"),
        (["null", "string"], "int", "has string, the reader's int"),
        (record(("x", "string"), name="I"), record(("x", "int"), name="I"), "field f.x: "),
        ({"type": "array", "items": "string"}, {"type": "array", "items": "int"}, "field f[]: "),
        ({"type": "map", "values": "string"}, {"type": "map", "values": "int"}, "field f{}: "),
        ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}, "of 2 bytes"),
        (SUIT, {**SUIT, "name": "Colour"}, "enum Suit"),
        (PRICE, {**PRICE, "scale": 1}, "decimal(9, 2)"),
        (logical("int", "date"), logical("long", "timestamp-millis"), "int (date)"),
    ],
)
def test_incompatible_version(written: Any, read: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=r"schema version 3.*cannot be resolved") as caught:
        decoded("AVRO", record(("f", read)), entries(b""), record(("f", written)))
    assert said in str(caught.value)


def test_required_field_that_the_writer_lacks() -> None:
    with pytest.raises(SchemaError, match=r"field added: the writer's schema lacks the field, .*no default"):
        decoded("AVRO", record(("added", "string")), entries(b"\0"), NOTHING)
    with pytest.raises(SchemaError, match='field added: expected a default of the type int, got "x"'):
        decoded("AVRO", record(("added", "int", "x")), entries(b"\0"), NOTHING)


def test_branch_that_cannot_be_read_fails_only_its_values() -> None:
    old = record(("f", ["null", "int", "string"]))
    new = record(("f", ["null", "long"]))
    assert resolved(old, new, {"f": 1}, {"f": None}) == [{"f": 1}, {"f": None}]
    with pytest.raises(DecodeError, match=r"batch index 1.*field f: the writer's schema has string"):
        resolved(old, new, {"f": 1}, {"f": "s"})
    with pytest.raises(DecodeError, match=r"batch index 0.*field f: the writer's schema has null"):
        resolved(record(("f", ["null", "int"])), record(("f", "int")), {"f": None})


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("boolean", b"\x02", "boolean of 0 or 1, got 2"),
        ("int", b"\xff\xff\xff\xff\xff\x01", "int of 32 bits"),
        ("long", b"\xff" * 10, "ten bytes"),
        ("long", b"\xff" * 9 + b"\x02", "64 bits"),
        ("long", b"\x80", "the end of the message"),
        ("string", b"\x01", "length, got -1"),
        ("string", b"\x06ab", "expected 3 more bytes, got 2"),
        ("string", b"\x02\xff", "UTF-8"),
        ("double", b"\0" * 7, "8 more bytes, got 7"),
        (["null", "int"], b"\x04", "branch 0 to 1, got 2"),
        (["null", "int", "string"], b"\x01", "branch 0 to 2, got -1"),
        (SUIT, b"\x04", "branch 0 to 1, got 2"),
        (
            {"type": "array", "items": "int"},
            b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\0",
            "the end of the message",
        ),
        ({"type": "array", "items": record(("x", "int"), name="I")}, b"\x04\x02", "field f[].x: "),
        ({"type": "map", "values": "int"}, b"\x02\x02k", "field f{k}: "),
        (PRICE, b"\x0a\x7f\0\0\0\0", "more digits"),
        (logical("int", "time-millis"), b"\xff\xff\xff\xff\x0f", "time of day of 0 to 86399999"),
        (logical("long", "timestamp-millis"), b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "verflow"),
    ],
)
def test_damaged_value_names_message_and_field(kind: Any, payload: bytes, said: str) -> None:
    document = record(("good", "int"), ("f", kind))
    good = {"boolean": True, "int": 1, "long": 1, "double": 0.5, "string": "s"}
    value: Any = good.get(kind) if isinstance(kind, str) else None
    if isinstance(kind, dict):
        value = {"enum": "CLUBS", "array": [], "map": {}, "bytes": Decimal(1)}.get(kind["type"], dt.time(1))
        value = dt.datetime(2000, 1, 1, tzinfo=dt.UTC) if "timestamp" in str(kind) else value
    fine = avro_bytes(document, {"good": 1, "f": value})
    with pytest.raises(DecodeError, match=r"entry 0, batch index 1: .*\bf\b") as caught:
        decoded("AVRO", document, entries(fine, b"\x02" + payload, fine))
    assert said in str(caught.value)


def test_bytes_after_the_value() -> None:
    with pytest.raises(DecodeError, match="expected the end after the Avro value, got 2 more bytes"):
        decoded("AVRO", NOTHING, entries(b"\x02\x00\x00"))


def test_null_values_between_versions() -> None:
    assert decoded("AVRO", record(("f", ["int", "string"])), entries(None, b"\x00\x06", None)) == [
        {"f": None},
        {"f": {"member0": 3, "member1": None}},
        {"f": None},
    ]


def test_messages_without_a_version_have_the_form_of_their_own_topic() -> None:
    own = record(("id", "int"), name="a")
    union = record(("more", ["null", "string"], None), ("id", "long"), name="b")
    info = SchemaInfo("x", SchemaType.AVRO, json.dumps(union).encode())
    schema = replace(resolve_read_schema(info, topic=TOPIC, columns=["*"]), own_schemas="of several topics")
    asked: list[bytes] = []

    def fetch(version: bytes) -> SchemaInfo:
        asked.append(version)
        return replace(info, document=json.dumps(own).encode())

    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=fetch)
    batches = [*decoder.decode(entries(avro_bytes(own, {"id": 7}), version=None)), *decoder.finish()]
    assert [row for batch in batches for row in batch.to_pylist()] == [{"more": None, "id": 7}]
    assert asked == [b""]


def test_a_version_of_another_type_is_not_read_as_this_one() -> None:
    document = record(("id", "int"))
    info = SchemaInfo("x", SchemaType.AVRO, json.dumps(document).encode(), version=WRITER)
    schema = resolve_read_schema(info, topic=TOPIC, columns=["*"])
    other = replace(info, type=SchemaType.JSON)
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: other)
    with pytest.raises(SchemaError, match="written as json, cannot be resolved to the reader's avro"):
        list(decoder.decode(entries(avro_bytes(document, {"id": 7}))))
