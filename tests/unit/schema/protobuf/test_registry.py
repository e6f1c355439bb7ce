"""Columns for Protobuf schemas of both kinds and for users' descriptors, or a clear error."""

import base64
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, struct_pb2
from unit.codec.stored_entries import stored

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import DecodeError, OptionError, SchemaError
from pyspark_pulsar.options import ReadOptions, WriteOptions, parse_options
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile
from pyspark_pulsar.schema.protobuf.descriptor_file import read_descriptor_file
from pyspark_pulsar.schema.protobuf.from_arrow import native_info
from pyspark_pulsar.schema.protobuf.parsing_info import PARSING_INFO
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.unfolding import Unfolding

F = descriptor_pb2.FieldDescriptorProto
Field = tuple[str, int, int] | tuple[str, int, int, str]


def file_of(
    *fields: Field, name: str = "shop.proto", syntax: str = "proto3"
) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name=name, package="shop", syntax=syntax)
    message = file.message_type.add(name="Order")
    for field_name, number, kind, *type_name in fields:
        field = message.field.add(name=field_name, number=number, type=kind, label=F.LABEL_OPTIONAL)
        if type_name:
            field.type_name = type_name[0]
    return file


def bytes_of(*files: descriptor_pb2.FileDescriptorProto) -> bytes:
    return descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()


def descriptor_file(
    *files: descriptor_pb2.FileDescriptorProto, message: str = "shop.Order"
) -> DescriptorFile:
    return DescriptorFile(bytes_of(*files), message, "/dir/shop.desc")


def native(*files: descriptor_pb2.FileDescriptorProto, version: bytes | None = None) -> SchemaInfo:
    data = {
        "fileDescriptorSet": base64.b64encode(bytes_of(*files)).decode(),
        "rootMessageTypeName": "shop.Order",
        "rootFileDescriptorName": "shop.proto",
    }
    return SchemaInfo("Order", SchemaType.PROTOBUF_NATIVE, json.dumps(data).encode(), version=version)


def columns(info: SchemaInfo | None, descriptor: DescriptorFile | None = None) -> pa.Schema:
    return resolve_read_schema(info, topic="t", columns=["*"], descriptor=descriptor).output_schema


SIMPLE = file_of(("id", 1, F.TYPE_UINT64), ("name", 2, F.TYPE_STRING))


def test_files_come_in_any_order_with_imports_of_imports() -> None:
    price = descriptor_pb2.FileDescriptorProto(name="price.proto", package="shop", syntax="proto3")
    price.dependency.append("money.proto")
    price.message_type.add(name="Price").field.add(
        name="money", number=1, type=F.TYPE_MESSAGE, type_name=".shop.Money", label=F.LABEL_OPTIONAL
    )
    money = file_of(name="money.proto")
    money.message_type[0].name = "Money"
    order = file_of(
        ("price", 1, F.TYPE_MESSAGE, ".shop.Price"), ("at", 2, F.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    )
    order.dependency.extend(["price.proto", "google/protobuf/timestamp.proto"])
    found = columns(native(order, price, money))
    assert found.field("price").type == pa.struct([pa.field("money", pa.struct([]))])
    assert found.field("at").type == pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (b"x", "expected JSON with fileDescriptorSet"),
        (b"[]", "expected JSON with fileDescriptorSet"),
        (b'{"fileDescriptorSet": "*", "rootMessageTypeName": "M"}', "expected JSON with fileDescriptorSet"),
        (b'{"fileDescriptorSet": "AAAA", "rootMessageTypeName": "M"}', "expected a FileDescriptorSet"),
        (
            b'{"fileDescriptorSet": "", "rootMessageTypeName": "M"}',
            "expected message M in the descriptors, got no",
        ),
        (b"\xff", "expected a document in UTF-8"),
    ],
)
def test_an_invalid_registry_document_is_refused(document: bytes, expected: str) -> None:
    with pytest.raises(SchemaError, match=expected):
        columns(SchemaInfo("M", SchemaType.PROTOBUF_NATIVE, document))


def test_descriptors_that_do_not_fit_together() -> None:
    broken = file_of(("a", 1, F.TYPE_MESSAGE, ".shop.Missing"))
    with pytest.raises(SchemaError, match="expected files that fit together"):
        columns(native(broken))
    lonely = file_of()
    lonely.dependency.append("other.proto")
    with pytest.raises(SchemaError, match=r"the descriptor of other\.proto is missing.*--include_imports"):
        columns(native(lonely))
    with pytest.raises(SchemaError, match=r"/dir/shop\.desc: expected message shop\.Nope.* got shop\.Order"):
        columns(None, descriptor_file(SIMPLE, message="shop.Nope"))


def test_a_message_that_contains_itself_is_shown_to_the_depth() -> None:
    file = file_of(("child", 1, F.TYPE_MESSAGE, ".shop.Node"))
    node = file.message_type.add(name="Node")
    node.field.add(name="next", number=1, type=F.TYPE_MESSAGE, type_name=".shop.Node", label=F.LABEL_REPEATED)
    node.field.add(name="id", number=2, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    payload = bytes.fromhex("0a0e 0a06 1002 0a02 1003 0a02 1004 1001".replace(" ", ""))
    inner: list[dict[str, object]] = [{"id": 2}, {"id": 4}]
    for depth, expected in [(1, {"id": 1}), (2, {"next": inner, "id": 1})]:
        unfolding = Unfolding(depth)
        schema = resolve_read_schema(native(file), topic="t", columns=["*"], unfolding=unfolding)
        decoder = EntryDecoder(schema, topic="t", partition=-1, fetch_schema=lambda _: native(file))
        batches = [*decoder.decode(stored([payload])), *decoder.finish()]
        assert [batch.to_pylist() for batch in batches] == [[{"child": expected}]]
    json_like = file_of(("any", 1, F.TYPE_MESSAGE, ".google.protobuf.Struct"))
    json_like.dependency.append(struct_pb2.DESCRIPTOR.name)
    value = columns(native(json_like)).field("any").type.field("fields").type.item_type
    assert [member.name for member in value] == ["null_value", "number_value", "string_value", "bool_value"]


def test_a_message_that_unfolds_without_end_is_refused() -> None:
    file = file_of(("m0", 1, F.TYPE_MESSAGE, ".shop.M0"))
    for level in range(40):
        message = file.message_type.add(name=f"M{level}")
        for number in (1, 2):
            message.field.add(
                name=f"f{number}",
                number=number,
                type=F.TYPE_MESSAGE,
                type_name=f".shop.M{level + 1}",
                label=F.LABEL_OPTIONAL,
            )
    file.message_type.add(name="M40")
    with pytest.raises(SchemaError, match="at most 20000 fields"):
        columns(native(file))


AVRO = {
    "type": "record", "name": "Order", "namespace": "shop.Shop",
    "fields": [
        {"name": "id", "type": "long", "default": -1},
        {"name": "name", "type": "string", "default": "nobody"},
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "colour", "type": {"type": "enum", "name": "C", "symbols": ["RED"]}, "default": "RED"},
        {"name": "inner", "type": ["null", {"type": "record", "name": "I", "fields": []}], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "flag", "type": "boolean", "default": True},
    ],
}  # fmt: skip
TYPES = ["UINT64", "STRING", "BYTES", "ENUM", "MESSAGE", "STRING", "BOOL"]
PARSED = [
    {"number": number, "name": field["name"], "type": kind, "definition": None,
     "label": "LABEL_REPEATED" if field["name"] == "tags" else "LABEL_OPTIONAL"}
    for number, (field, kind) in enumerate(zip(AVRO["fields"], TYPES, strict=True), start=1)
]  # fmt: skip


def protobuf(avro: object, parsed: object | None) -> SchemaInfo:
    properties = () if parsed is None else ((PARSING_INFO, json.dumps(parsed)),)
    return SchemaInfo("Order", SchemaType.PROTOBUF, json.dumps(avro).encode(), properties)


def test_the_top_level_of_a_protobuf_schema() -> None:
    info = protobuf(AVRO, PARSED)
    schema = resolve_read_schema(info, topic="t", columns=["*"])
    kinds = [pa.decimal128(20, 0), pa.string(), pa.binary(), pa.int32(), pa.binary()]
    assert schema.output_schema.types[:5] == kinds
    decoder = EntryDecoder(schema, topic="t", partition=-1, fetch_schema=lambda _: info)
    # Two pieces of one message stay one message.
    payloads = [b"", b"\x08\x02\x20\x07\x2a\x02\x08\x01\x2a\x02\x10\x02\x32\x01x\x38\x00"]
    batches = [*decoder.decode(stored(payloads)), *decoder.finish()]
    assert [list(row.values()) for batch in batches for row in batch.to_pylist()] == [
        [Decimal(2**64 - 1), "nobody", b"\xff", None, None, [], True],
        [Decimal(2), "nobody", b"\xff", 7, b"\x08\x01\x10\x02", ["x"], False],
    ]


@pytest.mark.parametrize(
    "info",
    [
        protobuf(AVRO, None),
        protobuf(AVRO, {}),
        protobuf(AVRO, [{"number": 1}]),
        protobuf(AVRO, [{"number": 1, "name": "g", "type": "GROUP", "label": "LABEL_OPTIONAL"}]),
        protobuf([], PARSED),
    ],
)
def test_a_protobuf_schema_without_its_fields(info: SchemaInfo) -> None:
    with pytest.raises(SchemaError, match=r"__PARSING_INFO__.*protobufDescriptorFile and protobufMessage"):
        columns(info)
    assert columns(info, descriptor_file(SIMPLE)).names == ["id", "name"]


def test_a_descriptor_is_for_protobuf_and_for_topics_that_say_nothing() -> None:
    given = descriptor_file(SIMPLE)
    for kind in (SchemaType.NONE, SchemaType.BYTES):
        assert columns(SchemaInfo("", kind), given).names == ["id", "name"]
    with pytest.raises(
        SchemaError,
        match=r"topic t: expected a Protobuf schema or none, because protobufDescriptorFile is set, got STRING",
    ):
        columns(SchemaInfo("", SchemaType.STRING), given)


@pytest.mark.parametrize("scope", [ReadOptions, WriteOptions])
def test_the_options_of_a_descriptor(scope: type[ReadOptions] | type[WriteOptions], tmp_path: Path) -> None:
    options = {"service.url": "pulsar://h:1", "topic": "t"}
    assert read_descriptor_file(parse_options(scope, options)) is None
    path = tmp_path / "x.desc"
    path.write_bytes(b"content")
    both = options | {"protobufDescriptorFile": str(path), "protobufMessage": "a.B"}
    found = read_descriptor_file(parse_options(scope, both))
    assert found == DescriptorFile(b"content", "a.B", str(path))
    path.unlink()
    with pytest.raises(OptionError, match=r"x\.desc.*No such file"):
        read_descriptor_file(parse_options(scope, both))
    for key in ("protobufDescriptorFile", "protobufMessage"):
        with pytest.raises(OptionError, match="is missing: expected it together with"):
            parse_options(scope, options | {key: "x"})


def test_an_incompatible_version_names_both() -> None:
    other = native(file_of(("id", 1, F.TYPE_SINT64)), version=(4).to_bytes(8, "big"))
    schema = resolve_read_schema(native(SIMPLE, version=(7).to_bytes(8, "big")), topic="t")
    decoder = EntryDecoder(schema, topic="t", partition=-1, fetch_schema=lambda _: other)
    with pytest.raises(
        SchemaError,
        match=(
            r"schema version 4 of messages .*: field id \(number 1\): "
            r"expected uint64 as in schema version 7, got sint64"
        ),
    ):
        [*decoder.decode(stored([b""], version=(4).to_bytes(8, "big"))), *decoder.finish()]


def test_a_version_with_a_type_that_contains_itself_does_no_harm() -> None:
    newer = file_of(("id", 1, F.TYPE_UINT64), ("self", 2, F.TYPE_MESSAGE, ".shop.Order"))
    schema = resolve_read_schema(native(file_of(("id", 1, F.TYPE_UINT64))), topic="t", columns=["*"])
    decoder = EntryDecoder(schema, topic="t", partition=-1, fetch_schema=lambda _: native(newer))
    batches = [*decoder.decode(stored([b"\x08\x05\x12\x02\x08\x06"])), *decoder.finish()]
    assert [batch.to_pylist() for batch in batches] == [[{"id": Decimal(5)}]]


def test_a_message_that_does_not_fit_is_named() -> None:
    schema = resolve_read_schema(native(SIMPLE), topic="t")
    decoder = EntryDecoder(schema, topic="t", partition=-1, fetch_schema=lambda _: native(SIMPLE))
    with pytest.raises(
        DecodeError, match=r"topic t, ledger 7, entry 1: .*field name, byte 1: expected wire type 2"
    ):
        [*decoder.decode(stored([b"", b"\x10\x01"])), *decoder.finish()]


def test_what_is_registered_is_what_was_given() -> None:
    order = file_of(("at", 1, F.TYPE_MESSAGE, ".google.protobuf.Timestamp"))
    order.dependency.append("google/protobuf/timestamp.proto")
    info = native_info(descriptor_file(order).descriptor())
    data = json.loads(info.text)
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(data["fileDescriptorSet"]))
    assert [file.name for file in files.file] == ["google/protobuf/timestamp.proto", "shop.proto"]
    assert (data["rootMessageTypeName"], data["rootFileDescriptorName"]) == ("shop.Order", "shop.proto")
    assert columns(info) == columns(native(order))
