import json
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.to_arrow import field_defaults, list_of, map_of, record_schema


def document(*fields: tuple[str, Any], **more: Any) -> str:
    members = [{"name": name, "type": kind} for name, kind in fields]
    return json.dumps({"type": "record", "name": "R", "fields": members, **more})


def arrow_of(kind: Any) -> pa.Field:
    return record_schema(document(("f", kind)), where="topic t").field("f")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("boolean", pa.bool_()),
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("bytes", pa.binary()),
        ("string", pa.string()),
        ({"type": "string", "avro.java.string": "String"}, pa.string()),
        ({"type": {"type": "string"}}, pa.string()),
        ({"type": "string", "logicalType": "uuid"}, pa.string()),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        ({"type": "int", "logicalType": "time-millis"}, pa.time32("ms")),
        ({"type": "long", "logicalType": "time-micros"}, pa.time64("us")),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("ms", tz="UTC")),
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", tz="UTC")),
        ({"type": "long", "logicalType": "timestamp-nanos"}, pa.timestamp("ns", tz="UTC")),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, pa.timestamp("ms")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.timestamp("us")),
        ({"type": "int", "logicalType": "timestamp-millis"}, pa.int32()),
        ({"type": "long", "logicalType": "of-our-own"}, pa.int64()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, pa.decimal128(9, 2)),
        (
            {"type": "fixed", "name": "D", "size": 16, "logicalType": "decimal", "precision": 38},
            pa.decimal128(38, 0),
        ),
        ({"type": "fixed", "name": "F", "size": 3}, pa.binary(3)),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, pa.string()),
        ({"type": "array", "items": "int"}, list_of(pa.int32(), nullable=False)),
        ({"type": "array", "items": ["null", "int"]}, list_of(pa.int32(), nullable=True)),
        ({"type": "map", "values": ["long", "null"]}, map_of(pa.int64(), nullable=True)),
        (
            {"type": "record", "name": "N", "fields": [{"name": "x", "type": ["null", "int"]}]},
            pa.struct([pa.field("x", pa.int32())]),
        ),
    ],
)
def test_type(kind: Any, expected: pa.DataType) -> None:
    found = arrow_of(kind)
    assert found.type == expected
    assert not found.nullable
    optional = arrow_of(["null", kind])
    assert optional.type == expected
    assert optional.nullable


def test_union_of_one_is_the_type_itself() -> None:
    assert arrow_of(["int"]) == pa.field("f", pa.int32(), nullable=False)


@pytest.mark.parametrize("null", [[], ["null"]])
def test_union_of_several_is_a_struct_of_members(null: list[str]) -> None:
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": ["int", "string"]}]}
    other = {"type": "fixed", "name": "n.Fix", "size": 2}
    inner = pa.struct([pa.field("member0", pa.int32()), pa.field("member1", pa.string())])
    expected = pa.struct(
        [
            pa.field("member0", pa.int64()),
            pa.field("member1", pa.struct([pa.field("x", inner, nullable=False)])),
            pa.field("member2", pa.binary(2)),
            pa.field("member3", list_of(inner, nullable=True)),
        ]
    )
    items = {"type": "array", "items": ["int", "null", "string"]}
    found = arrow_of(["long", *null, point, other, items])
    assert found == pa.field("f", expected, nullable=bool(null))


def test_null_is_a_column_without_values() -> None:
    assert arrow_of("null") == arrow_of({"type": "null"}) == pa.field("f", pa.null())


def test_fixed_uuid_is_text() -> None:
    assert arrow_of({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}).type == pa.string()
    assert arrow_of({"type": "fixed", "name": "U", "size": 15, "logicalType": "uuid"}).type == pa.binary(15)


def test_named_type_can_be_used_again_within_its_namespace() -> None:
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
    schema = record_schema(
        document(("a", point), ("b", "Point"), ("c", ["null", "n.s.Point"]), namespace="n.s"), where="t"
    )
    assert schema.field("a").type == schema.field("b").type == schema.field("c").type


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (["int", "string", "int"], "union of int, string, int"),
        (["null", "int", {"type": "int", "logicalType": "date"}], "union of null, int, int"),
        ([{"type": "array", "items": "int"}, {"type": "array", "items": "string"}], "union of array, array"),
        (["int", ["string"]], "union of int, a union of string"),
        ([], "got none"),
        (["null"], "union of null"),
        ("Unheard", "Unheard"),
        (["null", "R"], "contains itself"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 39, "scale": 0}, "got 39"),
        ({"type": "fixed", "name": "F", "size": -1}, "-1"),
        ({"type": "record", "name": "R", "fields": []}, "R twice"),
        ({"type": "record", "name": "N"}, "list of fields"),
        ({"type": "record", "fields": []}, "name for the record"),
        (17, "17"),
    ],
)
def test_refused_type_names_the_field(kind: Any, said: str) -> None:
    nested = {
        "type": "array",
        "items": {"type": "record", "name": "Outer", "fields": [{"name": "g", "type": kind}]},
    }
    with pytest.raises(SchemaError) as caught:
        record_schema(document(("f", nested)), where="topic t")
    assert said in str(caught.value)
    assert "topic t, field f[].g:" in str(caught.value)


def test_recursion_through_a_union_names_the_field() -> None:
    with pytest.raises(
        SchemaError, match=r"field f\[\]: expected a type of finite depth, got R, which contains"
    ):
        record_schema(document(("f", ["string", {"type": "array", "items": "R"}])), where="topic t")


@pytest.mark.parametrize("text", ["", "{", '"string"', '["null","int"]', "[" * 100_000])
def test_document_that_is_no_record(text: str) -> None:
    with pytest.raises(SchemaError, match="topic t"):
        record_schema(text, where="topic t")


def test_fields_with_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="distinct names"):
        record_schema(document(("f", "int"), ("f", "long")), where="t")


def test_defaults() -> None:
    fields = [{"name": "a", "type": "int", "default": 5}, {"name": "b", "type": "int"}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    assert field_defaults(text, where="t") == {"a": 5}
