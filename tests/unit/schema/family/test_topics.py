"""Topics that are one table, and topics that are not."""

import json
import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from unit.codec.raw_payloads import record

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.family.topics import TopicFamily, topic_family
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.schema.protobuf.from_arrow import new_protobuf_info
from pyspark_pulsar.schema.read_schema import resolve_read_schema

NULLABLE = ["null", "string"]


def info(document: object, kind: str = "AVRO", version: int = 0) -> SchemaInfo:
    text = json.dumps(document).encode() if document else b""
    return SchemaInfo("x", SchemaType[kind], text, version=version.to_bytes(8, "big"))


def family(*schemas: SchemaInfo | None) -> TopicFamily:
    return topic_family({TopicName.parse(f"t{n:04}"): info for n, info in enumerate(schemas)})


def read(found: TopicFamily) -> list[tuple[str, str]]:
    columns = resolve_read_schema(found.info, topic="t", payload=found.payload).value_columns
    return [(field.name, str(field.type)) for field in columns]


def together(*documents: dict[str, Any], kind: str = "AVRO") -> dict[str, Any]:
    """The fields by which messages of all documents are read."""
    found = family(*(info(document, kind) for document in documents))
    assert found.info is not None
    fields = {member["name"]: member for member in json.loads(found.info.text)["fields"]}
    # The order of the documents decides only the order of columns.
    again = family(*(info(document, kind) for document in reversed(documents)))
    assert again.info is not None
    assert {member["name"] for member in json.loads(again.info.text)["fields"]} == set(fields)
    return fields


def refused(*schemas: SchemaInfo | None) -> str:
    with pytest.raises(SchemaError) as caught:
        family(*schemas)
    return str(caught.value)


def test_names_of_records_say_nothing() -> None:
    line = record(("p", "int"), name="line_a")
    first = info(record(("x", line), name="a", namespace="n"), version=3)
    second = info(record(("x", line | {"name": "line_b"}), name="b", doc="other"))
    found = family(first, second)
    assert found.info == first
    assert found.payload is None
    assert len(found.members) == 1


def test_a_schema_that_reads_all_messages_is_used_unchanged() -> None:
    latest = record(
        ("note", NULLABLE, None), ("id", "long"), ("price", "double", 0.5), name="b", doc="the latest"
    )
    versions = [
        record(("id", "int"), name="a"),
        latest,
        record(("price", "double", 1.0), ("id", "long"), name="c"),
    ]
    found = family(*(info(version) for version in versions))
    assert found.info is not None
    assert json.loads(found.info.text) == latest
    assert found.info.version is None
    assert read(found) == [("note", "string"), ("id", "int64"), ("price", "double")]


def test_fields_that_others_lack() -> None:
    fields = together(
        record(("id", "int"), ("a", "string", "none"), name="a"),
        record(("id", "int"), ("b", NULLABLE, None), name="b"),
        record(("id", "int"), ("c", "long"), name="c"),
        record(("id", "int"), ("d", ["long", "null"], 7), name="d"),
        record(("id", "int"), ("e", ["string", "null"]), name="e"),
        record(("id", "int"), name="f"),
    )
    assert fields["a"] == {"name": "a", "type": "string", "default": "none"}
    assert fields["b"] == {"name": "b", "type": ["null", "string"], "default": None}
    assert fields["c"] == {"name": "c", "type": ["null", "long"], "default": None}
    assert fields["d"] == {"name": "d", "type": ["long", "null"], "default": 7}
    assert fields["e"] == {"name": "e", "type": ["null", "string"], "default": None}
    assert fields["id"] == {"name": "id", "type": "int"}


def logical(kind: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def enum(*symbols: str, name: str = "E", **more: str) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "F", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


MICROS = logical("long", "timestamp-micros")


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("int", "long", "long"),
        ("int", "float", "double"),
        ("long", "double", "double"),
        ("string", "bytes", "bytes"),
        ("null", "long", ["null", "long"]),
        (["null", "int"], "long", ["null", "long"]),
        (["long", "null"], "int", ["long", "null"]),
        (["long"], "int", "long"),
        (["int", "string"], ["null", "string", "double"], ["null", "int", "string", "double"]),
        (["string", "double"], "int", ["string", "double"]),
        (enum("A", "B"), enum("C", "A", default="C"), enum("A", "B", "C", default="C")),
        (fixed(2), fixed(2), fixed(2)),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, {"type": "array", "items": "long"}),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "float"}, {"type": "map", "values": "double"}),
        (logical("long", "timestamp-millis"), MICROS, MICROS),
        (logical("long", "timestamp-nanos"), logical("long", "timestamp-millis"), MICROS),
        (logical("int", "time-millis"), logical("long", "time-micros"), logical("long", "time-micros")),
        (
            logical("bytes", "decimal", precision=10, scale=2), logical("bytes", "decimal", precision=9, scale=4),
            logical("bytes", "decimal", precision=12, scale=4),
        ),
        ({"type": "string", "logicalType": "uuid"}, "string", "string"),
        ({"type": "long", "logicalType": "unknown"}, "int", "long"),
    ],
)  # fmt: skip
def test_types_that_differ(one: Any, other: Any, both: Any) -> None:
    fields = together(
        record(("id", "int"), ("x", one), name="a"), record(("id", "long"), ("x", other), name="b")
    )
    assert fields["x"]["type"] == both


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("long", "string"),
        ("int", "boolean"),
        ("long", MICROS),
        (MICROS, logical("long", "local-timestamp-micros")),
        (logical("int", "date"), logical("int", "time-millis")),
        (
            logical("bytes", "decimal", precision=38, scale=0),
            logical("bytes", "decimal", precision=2, scale=1),
        ),
        (fixed(2), fixed(3)),
        (fixed(2), fixed(2, "G")),
        (fixed(2, logicalType="decimal", precision=4), fixed(2, logicalType="decimal", precision=3, scale=2)),
        (fixed(2), "bytes"),
        (enum("A"), enum("A", name="G")),
        (enum("A"), "string"),
        ("long", {"type": "array", "items": "long"}),
        (["int", "string"], "boolean"),
        (["int", "string"], ["double", "bytes"]),
    ],
)
def test_types_that_no_reader_reads_both_of(one: Any, other: Any) -> None:
    both = [record(("id", "int"), ("x", kind), name=name) for kind, name in ((one, "a"), (other, "b"))]
    text = refused(*(info(document) for document in both))
    assert "schemas of the 2 topics cannot be read as one, 2 schemas differ: field x is " in text
    assert "in persistent://public/default/t0000, " in text
    nested = [
        record(("id", "int"), ("r", record(("l", {"type": "array", "items": document}), name="r")))
        for document in both
    ]
    assert "field r.l[].x is " in refused(*(info(document) for document in nested))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (logical("long", "timestamp-millis"), MICROS),
        (
            logical("bytes", "decimal", precision=10, scale=2),
            logical("bytes", "decimal", precision=9, scale=4),
        ),
        ("string", "bytes"),
        (["int", "string"], ["null", "string", "double"]),
    ],
)
def test_json_fields_of_different_types_are_refused(one: Any, other: Any) -> None:
    text = refused(*(info(record(("x", kind)), "JSON") for kind in (one, other)))
    assert "field x is " in text


def test_json_is_read_by_name() -> None:
    fields = together(
        record(("id", "int"), ("e", enum("A")), ("a", "int", 3), name="a"),
        record(
            {"name": "number", "type": "long", "default": 0, "aliases": ["id"]},
            ("e", enum("B", name="G")),
            name="b",
        ),
        kind="JSON",
    )
    assert set(fields) == {"id", "e", "a", "number"}
    assert fields["e"]["type"]["symbols"] == ["A", "B"]
    assert fields["a"] == {"name": "a", "type": ["int", "null"], "default": 3}


def test_fields_that_were_renamed() -> None:
    renamed = {"name": "number", "aliases": ["id"], "type": "long"}
    again = {"name": "no", "aliases": ["number"], "type": "long"}
    fields = together(record(("id", "int"), name="a"), record(renamed, name="b"), record(again, name="c"))
    assert fields == {"no": {"name": "no", "type": "long", "aliases": ["id", "number"]}}
    # Where one topic has both, they are two.
    both = together(record(("id", "int"), ("number", "long")), record(renamed | {"default": 0}, name="b"))
    assert set(both) == {"id", "number"}
    assert "aliases" not in both["number"]
    # Each calls itself the later one.
    turned = together(record(("a", "int")), record({"name": "b", "aliases": ["a"], "type": "int"}, name="b"))
    assert set(turned) == {"b"}


def test_nested_records_and_types_that_are_used_twice() -> None:
    line = record(("p", "int"), name="Line")
    first = record(("id", "int"), ("one", line), ("two", {"type": "array", "items": "Line"}), name="a")
    more = record(("p", "long"), ("q", "string", "?"), name="Line", namespace="n")
    second = record(("id", "int"), ("one", line), ("two", {"type": "array", "items": more}), name="b")
    third = record(("one", line), ("two", {"type": "array", "items": "Line"}), ("more", "int", 0), name="c")
    fields = together(first, second, third)
    assert fields["one"]["type"] == line
    assert fields["two"]["type"]["items"] == {
        "type": "record", "name": "Line_2", "aliases": ["Line"],
        "fields": [{"name": "p", "type": "long"}, {"name": "q", "type": "string", "default": "?"}],
    }  # fmt: skip


def test_defaults_keep_their_value_in_the_wider_type() -> None:
    times = logical("long", "timestamp-millis")
    decimals = [logical("bytes", "decimal", precision=10, scale=scale) for scale in (1, 3)]
    inner = [record(("s", kind), name="I") for kind in ("string", "bytes")]
    fields = together(
        record(
            ("id", "int"),
            ("t", times, 5),
            ("d", decimals[0], "\x05"),
            ("s", "string", "é"),
            ("r", inner[0], {"s": "é"}),
        ),
        record(
            ("id", "int"),
            ("t", MICROS),
            ("d", decimals[1]),
            ("s", "bytes"),
            ("r", inner[1]),
            ("more", "int", 0),
        ),
    )
    assert fields["t"]["default"] == 5000
    assert fields["d"]["default"] == "\x01\xf4"
    assert fields["s"]["default"] == "Ã©"
    assert fields["r"]["default"] == {"s": "Ã©"}


def test_topics_that_have_nothing_to_do_with_each_other() -> None:
    orders = record(("order", NULLABLE, None), ("item", NULLABLE, None), name="orders")
    clicks = record(("user", NULLABLE, None), ("page", NULLABLE, None), name="clicks")
    assert (
        "a message is a record in persistent://public/default/t0000, a record without a common field in "
        in refused(info(orders), info(clicks))
    )
    between = record(("order", NULLABLE, None), ("user", NULLABLE, None), name="between")
    assert set(together(orders, clicks, between)) == {"order", "item", "user", "page"}
    assert set(together(orders, record(name="empty"))) == {"order", "item"}
    # What each demands the other lacks.
    text = refused(
        info(record(("id", "int"), ("item", "string"))), info(record(("id", "int"), ("page", "string")))
    )
    assert "field item is required in persistent://public/default/t0000, missing in " in text


@pytest.mark.parametrize(
    "other",
    [
        SchemaInfo("x", SchemaType.INT64),
        None,
        info(None, "BYTES"),
        info(record(("id", "int")), "JSON"),
        info({"type": "record", "name": "b", "fields": [{"name": "id", "type": "no_type"}]}),
    ],
)
def test_other_kinds_of_schema(other: SchemaInfo | None) -> None:
    assert "schemas of the 2 topics cannot be read as one, 2 schemas differ" in refused(
        info(record(("id", "int"))), other
    )


def test_primitives_must_be_equal() -> None:
    assert family(info(None, "INT64"), info(None, "INT64", 4)).payload is None
    assert family(None, info(None, "BYTES"), info(None, "NONE")).payload is None
    assert "INT32 in persistent://public/default/t0001" in refused(info(None, "INT64"), info(None, "INT32"))


def pair(key: SchemaInfo, value: SchemaInfo, *, separated: bool = False) -> SchemaInfo:
    return join(KeyValueSchemas(key, value, separated))


def test_both_sides_of_a_pair() -> None:
    number, text = info(None, "INT64"), info(None, "STRING")
    small, large = info(record(("a", "int"))), info(record(("a", "long"), ("b", "string", ""), name="S"))
    found = family(
        pair(number, small), pair(number, large, separated=True), pair(number, small, separated=True)
    )
    assert read(found) == [("key", "int64"), ("value", "struct<a: int64, b: string>")]
    assert read(family(pair(large, text), pair(small, text))) == [
        ("key", "struct<a: int64, b: string>"),
        ("value", "string"),
    ]
    assert "field key is INT64 in " in refused(pair(number, small), pair(text, small))
    clash = info(record(("a", "string")))
    assert "field value.a is int in " in refused(pair(number, small), pair(number, clash))


def test_the_error_lists_topics_by_schema() -> None:
    number, row = SchemaInfo("x", SchemaType.INT64), info(record(("id", "int"), ("doc", "string")))
    text = refused(number, row, None, row)
    assert "schemas of the 4 topics cannot be read as one, 3 schemas differ" in text
    assert (
        "\n  - AVRO R(id, doc): persistent://public/default/t0001, persistent://public/default/t0003" in text
    )
    assert "\n  - INT64: persistent://public/default/t0000" in text
    assert "\n  - no schema: persistent://public/default/t0002" in text
    assert "allowDifferentTopicSchemas=true" in text


def test_the_error_stays_short_for_thousands_of_topics() -> None:
    kinds = ("int", "string")
    many = [info(record(("x", kinds[n % 2]), (f"f{n % 40}", "int", 0), name=f"R{n}")) for n in range(4000)]
    text = refused(*many)
    assert len(text) < 4000
    assert "and 95 more" in text
    assert "30 more schemas" in text


def test_thousands_of_topics_named_after_themselves() -> None:
    def version(n: int) -> dict[str, Any]:
        more = [(f"f{i}", NULLABLE, None) for i in range(20 + n % 3)]
        return record(("id", "int" if n % 2 else "long"), *more, name=f"topic_{n}")

    many = [info(version(n)) for n in range(3000)]
    begun = time.process_time()
    found = family(*many)
    took = time.process_time() - begun
    assert len(found.members) == 6
    assert [name for name, _ in read(found)] == ["id", *(f"f{i}" for i in range(22))]
    assert took < 10, f"{took:.1f} s of processor time: schemas were compared pairwise"


def test_the_digest_depends_on_every_topic() -> None:
    first, second = info(record(("id", "int"))), info(record(("id", "long")))
    digests = {
        family(first, second).digest,
        family(second, first).digest,
        family(first, second, first).digest,
        family(first, info(record(("id", "long")), version=1)).digest,
    }
    assert len(digests) == 4
    assert family(first, second).digest in digests


def message(name: str, **columns: pa.DataType) -> SchemaInfo:
    """Fields numbered in their order, absent when they are null."""
    return new_protobuf_info([pa.field(key, kind) for key, kind in columns.items()], name=name, where="t")


def test_protobuf_by_number() -> None:
    old = message("a", id=pa.int32(), item=pa.string())
    new = message("b", id=pa.int64(), item=pa.string(), line=pa.struct([pa.field("p", pa.int32())]))
    other = message("c", id=pa.int64(), item=pa.binary(), line=pa.struct([pa.field("p", pa.int64())]))
    assert read(family(old, new, other)) == [
        ("id", "int64"),
        ("item", "binary"),
        ("line", "struct<p: int64>"),
    ]
    found = family(new, old, replace(new, version=b"other"))
    assert len(found.members) == 2
    assert found.info == new


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (message("b", id=pa.string(), item=pa.string()), ["field id is optional int64 id = 1", "string id = 1"]),
        (message("b", user=pa.int64(), page=pa.string()), ["field id is", "optional int64 user = 1"]),
        (message("b", item=pa.string(), id=pa.int64()), ["field id is", "optional string item = 1"]),
        (message("b", id=pa.list_(pa.int64()), item=pa.string()), ["repeated int64 id = 1"]),
        (message("b", id=pa.float64(), item=pa.string()), ["optional double id = 1"]),
    ],
)  # fmt: skip
def test_protobuf_that_differs(other: SchemaInfo, words: list[str]) -> None:
    text = refused(message("a", id=pa.int64(), item=pa.string()), other)
    for word in words:
        assert word in text, text


def test_absence_that_means_two_things() -> None:
    columns = [pa.field("id", pa.int64(), nullable=False)]
    zero = new_protobuf_info(columns, name="a", where="t")
    assert "implicit int64 id = 1, 0 when absent" in refused(zero, message("b", id=pa.int64()))
