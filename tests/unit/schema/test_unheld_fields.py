"""Fields that no column holds: left out unless they are selected, and shown as far as possible if they are."""

import json
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from unit.codec.raw_payloads import TOPIC, WRITER, avro_bytes, entries, record, written

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import DecodeError, SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.family.topics import topic_family
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.types.type_text import type_text
from pyspark_pulsar.schema.unfolding import Unfolding
from pyspark_pulsar.schema.user_schema import restrict_to
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

NODE = record(
    ("id", "int"), ("next", ["null", "Node"], None), ("last", "string"), name="Node", namespace="a.b"
)
WIDE = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
ORDER = record(("id", "int"), ("amount", ["null", WIDE], None), ("note", "string"))


def info(document: dict[str, Any], kind: str = "AVRO") -> SchemaInfo:
    return SchemaInfo("R", SchemaType[kind], json.dumps(document).encode(), version=WRITER)


def schema_of(
    document: dict[str, Any], kind: str = "AVRO", depth: int = 1, wanted: pa.Schema | None = None
) -> ReadSchema:
    """Return the result of resolving a read with option recursiveFieldMaxDepth, or with `.schema(wanted)`."""
    unfolding = Unfolding(depth, wanted)
    resolved = resolve_read_schema(info(document, kind), topic=TOPIC, columns=["*"], unfolding=unfolding)
    return resolved if wanted is None else restrict_to(resolved, wanted, topic=TOPIC, unfolding=unfolding)


def rows(schema: ReadSchema, found: EntryBatch, writer: SchemaInfo | None = None) -> list[dict[str, Any]]:
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: writer or schema.info)
    batches = [*decoder.decode(found), *decoder.finish()]
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema.equals(schema.output_schema, check_metadata=True)
    return [row for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict")]


def read(document: dict[str, Any], value: dict[str, Any], **how: Any) -> dict[str, Any]:
    """A value written by fastavro."""
    [row] = rows(schema_of(document, **how), entries(avro_bytes(document, value)))
    return row


def chain(length: int) -> dict[str, Any]:
    value = None
    for number in range(length, 0, -1):
        value = {"id": number, "next": value, "last": str(number)}
    assert value is not None
    return value


def columns(schema: ReadSchema) -> str:
    return ", ".join(f"{field.name} {type_text(field.type)}" for field in schema.output_schema)


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
@pytest.mark.parametrize("length", [1, 2, 3, 200])
def test_a_record_in_itself_is_shown_to_the_depth(kind: str, length: int) -> None:
    payload = avro_bytes(NODE, chain(length)) if kind == "AVRO" else json.dumps(chain(length)).encode()
    expected = {"id": 1, "last": "1"}
    assert columns(schema_of(NODE, kind)) == "id int, last string"
    assert rows(schema_of(NODE, kind), entries(payload)) == [expected]
    second = {"id": 2, "next": None if length < 3 else {"id": 3, "last": "3"}, "last": "2"}
    expected["next"] = None if length < 2 else second
    schema = schema_of(NODE, kind, depth=3)
    assert (
        columns(schema)
        == "id int, next struct<id: int, next: struct<id: int, last: string>, last: string>, last string"
    )
    assert rows(schema, entries(payload)) == [expected]


def test_a_schema_that_is_named_reaches_as_deep_as_its_members() -> None:
    inner = pa.struct([("id", pa.int32()), ("next", pa.struct([("last", pa.string())]))])
    wanted = pa.schema([("next", inner), ("id", pa.int64())])
    assert read(NODE, chain(4), wanted=wanted) == {"next": {"id": 2, "next": {"last": "3"}}, "id": 1}


def test_a_message_nested_deeper_than_any_is_a_bad_row() -> None:
    """Each level is a byte or two long. Without a bound, skipping would need a stack as deep as the message
    is long.
    """
    payload = b"\x02\x02" * 2_000_000
    with pytest.raises(DecodeError, match="at most 1000 nested values"):
        rows(schema_of(NODE), entries(payload))


TREE = record(("name", "string"), ("children", {"type": "array", "items": "Tree"}), name="Tree")


def test_lists_and_maps_of_the_record_itself() -> None:
    value = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
    assert read(TREE, value) == {"name": "a"}
    assert read(TREE, value, depth=2) == {"name": "a", "children": [{"name": "b"}]}
    by_name = record(("n", "int"), ("m", {"type": "map", "values": ["null", "M"]}), name="M")
    deep = {"n": 1, "m": {"x": {"n": 2, "m": {"y": None}}, "z": None}}
    assert read(by_name, deep, depth=2) == {"n": 1, "m": {"x": {"n": 2}, "z": None}}


ANY = record(
    (
        "any",
        ["null", "string", {"type": "array", "items": "Any"}, {"type": "map", "values": "Any"}, "Any", "int"],
    ),
    name="Any",
)


@pytest.mark.parametrize(
    ("value", "once", "twice"),
    [
        ("s", {"member0": "s", "member4": None}, {"member0": "s"}),
        (7, {"member0": None, "member4": 7}, {"member4": 7}),
        (None, None, None),
        ([{"any": "x"}, {"any": [{"any": None}]}], None, {"member1": [{"any": {"member0": "x"}}, {"any": None}]}),
        ({"k": {"any": 5}}, None, {"member2": {"k": {"any": {"member4": 5}}}}),
    ],
)  # fmt: skip
def test_a_branch_that_is_not_held_is_null(value: Any, once: Any, twice: Any) -> None:
    assert read(ANY, {"any": value}) == {"any": once}
    found = read(ANY, {"any": value}, depth=2)["any"]

    def set_only(node: Any) -> Any:
        if isinstance(node, list):
            return [set_only(item) for item in node]
        if isinstance(node, dict):
            return {key: set_only(item) for key, item in node.items() if item is not None or key == "any"}
        return node

    assert set_only(found) == twice
    text = json.dumps({"any": value}).encode()
    assert rows(schema_of(ANY, "JSON"), entries(text)) == [{"any": once}]


def test_records_that_contain_each_other() -> None:
    inner = record(("a", ["null", "A"], None), ("x", "int"), name="B")
    outer = record(("b", inner), ("again", ["null", "B"], None), ("y", "int"), name="A")
    value = {
        "b": {"a": {"b": {"a": None, "x": 3}, "again": None, "y": 4}, "x": 1},
        "again": {"a": None, "x": 5},
        "y": 2,
    }
    assert read(outer, value) == {"b": {"x": 1}, "again": {"x": 5}, "y": 2}
    assert read(outer, value, depth=2) == {
        "b": {"a": {"b": {"x": 3}, "again": None, "y": 4}, "x": 1},
        "again": {"a": None, "x": 5},
        "y": 2,
    }  # fmt: skip


def test_a_record_of_nothing_but_itself_has_no_columns() -> None:
    lonely = record(("me", ["null", "L"], None), name="L")
    schema = resolve_read_schema(info(lonely), topic=TOPIC)
    assert schema.value_columns.names == []
    assert schema.output_schema.names[0] == "__key"


def test_a_version_that_contains_itself_resolves_to_one_that_does_not() -> None:
    plain = record(("id", "int"), name="Node")
    assert rows(schema_of(plain), entries(avro_bytes(NODE, chain(3))), info(NODE)) == [{"id": 1}]
    renamed = json.loads(json.dumps(NODE).replace('"name": "last"', '"name": "end", "aliases": ["last"]'))
    found = rows(schema_of(renamed, depth=2), entries(avro_bytes(NODE, chain(3))), info(NODE))
    assert found == [{"id": 1, "next": {"id": 2, "end": "2"}, "end": "1"}]


AMOUNT = Decimal("-12345678901234567890123456789012345678901234567890123456789012.34")


def order(amount: Decimal | None) -> dict[str, Any]:
    return {"id": 1, "amount": amount, "note": "n"}


def order_bytes(amount: Decimal | None, document: dict[str, Any] = ORDER) -> bytes:
    with localcontext() as context:
        context.prec = 100
        return avro_bytes(document, order(amount))


def test_a_decimal_too_wide_is_left_out_and_shown_as_text_or_bytes() -> None:
    assert columns(schema_of(ORDER)) == "id int, note string"
    assert rows(schema_of(ORDER), entries(order_bytes(AMOUNT))) == [{"id": 1, "note": "n"}]
    as_text = schema_of(ORDER, wanted=pa.schema([("amount", pa.string()), ("note", pa.string())]))
    amounts = [AMOUNT, Decimal("0.00"), Decimal("-0.01"), Decimal("7.10"), Decimal("-1000000000.00"), None]
    found = rows(as_text, entries(*map(order_bytes, amounts)))
    assert [row["amount"] for row in found] == [None if one is None else str(one) for one in amounts]
    as_bytes = schema_of(ORDER, wanted=pa.schema([("amount", pa.binary())]))
    assert rows(as_bytes, entries(order_bytes(Decimal("-0.01")))) == [{"amount": b"\xff"}]
    for wanted in (pa.decimal128(38, 2), pa.float64()):
        with pytest.raises(
            SchemaError, match=r"amount \(decimal\(64, 2\) has more than 38 digits; .*string or binary"
        ):
            schema_of(ORDER, wanted=pa.schema([("amount", wanted)]))


@pytest.mark.parametrize("size", [27, 40])
def test_a_wide_decimal_of_a_fixed(size: int) -> None:
    fixed = {**WIDE, "type": "fixed", "name": "D", "size": size}
    document = record(("id", "int"), ("amount", ["null", fixed], None), ("note", "string"))
    payload = order_bytes(Decimal("-1.50"), document)
    text, raw = (
        schema_of(document, wanted=pa.schema([("amount", kind)])) for kind in (pa.string(), pa.binary())
    )
    assert rows(text, entries(payload)) == [{"amount": "-1.50"}]
    assert rows(raw, entries(payload)) == [{"amount": (-150).to_bytes(size, "big", signed=True)}]
    assert rows(schema_of(document), entries(payload)) == [{"id": 1, "note": "n"}]


def test_wide_decimals_of_json_are_the_digits_that_were_written() -> None:
    payload = b'{"id":1,"amount":%s,"note":"n"}' % str(AMOUNT).encode()
    assert rows(schema_of(ORDER, "JSON"), entries(payload)) == [{"id": 1, "note": "n"}]
    as_text = schema_of(ORDER, "JSON", wanted=pa.schema([("amount", pa.string())]))
    assert rows(as_text, entries(payload)) == [{"amount": str(AMOUNT)}]


def test_more_digits_than_the_schema_says_are_a_bad_row() -> None:
    as_text = schema_of(ORDER, wanted=pa.schema([("amount", pa.string())]))
    huge = b"\x02\x02" + b"\xfe\xff\x03" + b"\x7f" * 32767 + b"\x02n"
    with pytest.raises(DecodeError, match="got more digits"):
        rows(as_text, entries(huge))


@pytest.mark.parametrize(
    ("kind", "held", "value"),
    [
        ({**WIDE, "precision": 2, "scale": 3}, pa.binary(), b"\x05"),
        ({"type": "bytes", "logicalType": "decimal"}, pa.binary(), b"\x05"),
        ({**WIDE, "precision": 0}, pa.binary(), b"\x05"),
        ({**WIDE, "precision": "4"}, pa.binary(), b"\x05"),
        ({**WIDE, "precision": 4, "scale": -1}, pa.binary(), b"\x05"),
        ({**WIDE, "precision": 10, "type": "fixed", "name": "F", "size": 4}, pa.binary(), b"\1\2\3\4"),
        ({**WIDE, "precision": 9, "type": "fixed", "name": "F", "size": 4}, pa.decimal128(9, 2), Decimal("168.09")),
        ({**WIDE, "precision": 4, "type": "string"}, pa.string(), "x"),
        ({"type": "string", "logicalType": "timestamp-millis"}, pa.string(), "x"),
        ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, pa.binary(), bytes(12)),
        ({"type": "fixed", "name": "F", "size": 3, "logicalType": "duration"}, pa.binary(), bytes(3)),
        ({"type": "fixed", "name": "F", "size": 3, "logicalType": "uuid"}, pa.binary(), bytes(3)),
        ({"type": "int", "logicalType": "unheard-of"}, pa.int32(), 5),
    ],
)  # fmt: skip
def test_logical_types_that_are_not_valid_are_ignored(
    kind: dict[str, Any], held: pa.DataType, value: Any
) -> None:
    document, plain = record(("x", kind)), {key: kind[key] for key in kind if key != "logicalType"}
    raw = bytes([0, 0, 0x41, 0xA9]) if isinstance(value, Decimal) else value
    schema = schema_of(document)
    assert schema.output_schema.field("x").type == held
    payload = avro_bytes(record(("x", plain)), {"x": raw})
    assert rows(schema, entries(payload)) == [{"x": value}]


def test_columns_name_the_reason_for_a_missing_field() -> None:
    for document, name, why in [
        (NODE, "next", r"a\.b\.Node contains itself"),
        (ORDER, "amount", "38 digits"),
    ]:
        with pytest.raises(SchemaError, match=rf"{TOPIC}: no column can contain {name} \(.*{why}"):
            resolve_read_schema(info(document), topic=TOPIC, columns=[name])
        assert resolve_read_schema(info(document), topic=TOPIC, columns=["id"]).output_schema.names == ["id"]


def test_a_family_of_topics_with_fields_that_no_column_holds() -> None:
    longer = {**NODE, "fields": [*NODE["fields"], {"name": "more", "type": "int", "default": 0}]}
    topics = {TopicName.parse("a"): info(NODE), TopicName.parse("b"): info(longer)}
    for depth, expected in [(1, ["id", "last", "more"]), (2, ["id", "next", "last", "more"])]:
        family = topic_family(topics, Unfolding(depth))
        assert family.info is not None
        schema = resolve_read_schema(
            family.info, topic="a", columns=["*"], payload=family.payload, unfolding=Unfolding(depth)
        )
        assert schema.output_schema.names == expected
        assert schema.value.shows_more == (depth > 1)
        assert {one.path for one in schema.value.omitted} == {"next" if depth == 1 else "next.next"}
        [row] = rows(schema, entries(avro_bytes(NODE, chain(3))), info(NODE))
        assert row["more"] in (None, 0)
        assert row.get("next", {"id": 2})["id"] == 2


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
@pytest.mark.parametrize(
    ("document", "row", "unheld"),
    [(NODE, {"id": 1, "last": "x"}, "next"), (ORDER, {"id": 1, "note": "n"}, "amount")],
)
def test_writes_have_null_where_no_column_holds_the_field(
    kind: str, document: dict[str, Any], row: dict[str, Any], unheld: str
) -> None:
    _, [payload] = written(kind, document, [row])
    whole = {field["name"]: row.get(field["name"]) for field in document["fields"]}
    assert payload == avro_bytes(document, whole) if kind == "AVRO" else json.loads(payload) == whole
    given = pa.schema([(name, pa.string()) for name in ("id", unheld)])
    with pytest.raises(SchemaError, match=rf"{unheld} \(.*\) cannot be written"):
        resolve_write_schema(given, info(document, kind), topic=TOPIC)


def test_writes_without_a_value_that_the_schema_needs_are_refused_by_name() -> None:
    columns = pa.schema([("name", pa.string())])
    with pytest.raises(
        SchemaError, match=r"children \(Tree contains itself.* is required by the topic's schema"
    ):
        resolve_write_schema(columns, info(TREE), topic=TOPIC)
