"""The fields of a reader's schema among columns that another schema made."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from pyspark_pulsar.history.columnar.columns.field_matches import stored_name
from pyspark_pulsar.history.columnar.columns.resolution import Resolution, resolve
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema, columns_of, payload_schema
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile

Field = dict[str, Any]


def field(name: str, kind: Any, **further: Any) -> Field:
    return {"name": name, "type": kind, **further}


def record(*fields: Field, kind: SchemaType = SchemaType.AVRO) -> PayloadSchema:
    document = {"type": "record", "name": "R", "fields": list(fields)}
    return payload_schema(SchemaInfo("t", kind, json.dumps(document).encode()), topic="t")


def json_record(*fields: Field) -> PayloadSchema:
    return record(*fields, kind=SchemaType.JSON)


def resolved(tiered: PayloadSchema, reader: PayloadSchema) -> Resolution:
    return resolve(tiered, columns_of(tiered), reader)


def names(resolution: Resolution) -> dict[str, str] | None:
    """Return the names that the reader's columns have in files."""
    if resolution.columns is None:
        return None
    return {column.name: stored_name(column) for column in resolution.columns}


ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
WIDER = ENUM | {"symbols": ["A", "B", "C"]}
OTHER = ENUM | {"symbols": ["A", "C"], "default": "A"}
INNER = {"type": "record", "name": "I", "fields": [field("x", "int")]}
RENAMED = INNER | {"fields": [field("y", "int", aliases=["x"])]}


@pytest.mark.parametrize(
    ("tiered", "reader", "expected"),
    [
        (field("a", "int"), field("a", "int"), {"a": "a"}),
        (field("a", "int"), field("a", "long"), {"a": "a"}),
        (field("a", "float"), field("a", ["null", "double"]), {"a": "a"}),
        (field("a", "int"), field("b", "int", aliases=["a"]), {"b": "a"}),
        (field("a", "int"), field("b", "int", default=7), {}),
        (field("a", ENUM), field("a", WIDER), {"a": "a"}),
        (field("a", INNER), field("a", RENAMED), {"a": "a"}),
        # The decoder knows what becomes of these.
        (field("a", "int"), field("a", "string"), None),
        (field("a", "long"), field("a", "int"), None),
        (field("a", "int"), field("a", "double"), None),
        (field("a", "int"), field("b", "int"), None),
        (field("a", ["null", "int"]), field("a", "int"), None),
        (field("a", ENUM), field("a", OTHER), None),
        (field("a", ["int", "string"]), field("a", ["int", "string", "null"]), None),
        (field("a", "int"), field("a", ["int", "string"]), None),
        (field("a", "int"), field("b", ["int", "string"], default=7), None),
        (field("a", "bytes"), field("a", "string"), None),
    ],
)
def test_avro(tiered: Field, reader: Field, expected: dict[str, str] | None) -> None:
    assert names(resolved(record(tiered), record(reader))) == expected


def test_aliases_that_leave_two_ways_are_for_the_decoder() -> None:
    tiered = record(field("a", "int"), field("b", "int"))
    swapped = record(field("a", "int", aliases=["b"]), field("b", "int", aliases=["a"]))
    twice = record(field("c", "int", aliases=["a"]), field("d", "int", aliases=["a"]))
    both = record(field("b", "int", aliases=["a"]))
    for reader in (swapped, twice, both):
        assert resolved(tiered, reader).columns is None


def test_members_have_the_readers_names() -> None:
    lists = [field("a", {"type": "array", "items": kind}) for kind in (INNER, RENAMED)]
    columns = resolved(record(lists[0]), record(lists[1])).columns
    assert columns is not None
    (member,) = columns.field("a").type.value_type
    assert (member.name, stored_name(member)) == ("y", "x")


@pytest.mark.parametrize(
    ("tiered", "reader", "expected", "unclear"),
    [
        (field("a", "int"), field("a", "long"), {"a": "a"}, []),
        (field("a", ["null", "int"]), field("b", ["null", "int"]), {}, []),
        (field("a", "int"), field("b", "int", default=7), {}, []),
        # Members have no aliases, and a message without one that allows no null is a bad row.
        (field("a", "int"), field("b", "int", aliases=["a"]), None, []),
        (field("a", "int"), field("a", "string"), None, []),
        (field("a", ENUM), field("a", OTHER), None, []),
        (field("a", "float"), field("a", "double"), None, ["a"]),
        (field("a", "double"), field("a", "long"), None, ["a"]),
        # A member that is not there is null if the field is nullable, whatever its default.
        (field("a", ["null", "int"]), field("a", ["int", "null"], default=7), {"a": "a"}, []),
        (field("a", ["null", "int"]), field("b", ["int", "null"], default=7), {}, []),
        (field("a", ["null", "int"]), field("b", ["int", "string", "null"], default=7), {}, []),
        (field("a", ["null", "int"]), field("a", "int", default=7), None, ["a"]),
        (field("a", ["int", "null"], default=7), field("a", ["int", "null"], default=8), {"a": "a"}, []),
    ],
)
def test_json(tiered: Field, reader: Field, expected: dict[str, str] | None, unclear: list[str]) -> None:
    found = resolved(json_record(tiered), json_record(reader))
    assert (names(found), list(found.unclear)) == (expected, unclear)


def test_a_field_inside_that_is_not_clear_names_the_column() -> None:
    first, second = (
        json_record(field("r", INNER | {"fields": [field("x", kind)]})) for kind in ("float", "double")
    )
    assert "x" not in resolved(first, second).unclear
    assert "float to double" in resolved(first, second).unclear["r"]


def message(*fields: tuple[str, int, str], label: str = "LABEL_OPTIONAL") -> PayloadSchema:
    """A proto3 message of scalars."""
    proto = DescriptorProto(name="M")
    for name, number, kind in fields:
        added = proto.field.add(name=name, number=number)
        added.type = getattr(added, f"TYPE_{kind.upper()}")
        added.label = getattr(added, label)
    file = FileDescriptorProto(name="m.proto", syntax="proto3", message_type=[proto])
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    given = DescriptorFile(FileDescriptorSet(file=[file]).SerializeToString(), "M", "m.desc")
    return payload_schema(SchemaInfo("t", SchemaType.BYTES), topic="t", descriptor=given)


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        (message(("a", 1, "int32"), ("b", 2, "string")), {"a": "a", "b": "b"}),
        (message(("x", 1, "int32"), ("b", 2, "string")), {"x": "a", "b": "b"}),
        (message(("b", 1, "int32"), ("a", 2, "string")), {"b": "a", "a": "b"}),
        (message(("a", 7, "int32")), {}),
        (message(("a", 1, "int64")), {"a": "a"}),
        (message(("a", 1, "uint32")), None),
        (message(("b", 2, "bytes")), None),
        (message(("b", 2, "string"), label="LABEL_REPEATED"), None),
    ],
)
def test_protobuf_fields_are_their_numbers(reader: PayloadSchema, expected: dict[str, str] | None) -> None:
    assert names(resolved(message(("a", 1, "int32"), ("b", 2, "string")), reader)) == expected


def test_fields_that_a_oneof_joins_are_for_the_decoder() -> None:
    def plan(first: int | None, second: int | None) -> PayloadSchema:
        fields = [
            {"name": name, "number": number, "kind": "int32", "shape": "optional", "oneof": oneof}
            for name, number, oneof in (("a", 1, first), ("b", 2, second))
        ]
        document = {"messages": [{"name": "M", "fields": fields}], "enums": []}
        columns = pa.schema([("a", pa.int32()), ("b", pa.int32())])
        return PayloadSchema("protobuf", columns, json.dumps(document))

    for tiered, reader, is_decoded in (
        (plan(None, None), plan(0, 0), True),
        (plan(0, None), plan(0, 0), True),
        (plan(0, 1), plan(0, 0), True),
        (plan(0, 0), plan(None, None), False),
        (plan(0, 0), plan(1, 1), False),
        (plan(None, None), plan(0, 1), False),
    ):
        assert (resolved(tiered, reader).columns is None) is is_decoded


def test_other_kinds_of_payloads_are_decoded() -> None:
    raw, text = PayloadSchema("bytes"), PayloadSchema("string")
    assert resolved(raw, raw).columns == pa.schema([("value", pa.binary())])
    assert resolved(raw, text).columns is None
    assert resolved(raw, record(field("a", "int"))).columns is None
