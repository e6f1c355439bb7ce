"""Protobuf schemas that a write registers, and columns that it refuses."""

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2
from unit.codec.sent_entries import entries_of

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.protobuf.descriptor import native_descriptor
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

COLUMNS = pa.schema(
    [
        pa.field("flag", pa.bool_(), nullable=False),
        ("tiny", pa.int8()),
        ("text", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("took", pa.duration("us")),
        ("by_name", pa.map_(pa.string(), pa.struct([("x", pa.list_(pa.binary()))]))),
        ("Nested", pa.struct([pa.field("nested", pa.struct([("y", pa.float32())]))])),
        ("many", pa.list_(pa.struct([("z", pa.int64())]))),
    ]
)


def registered(columns: pa.Schema) -> descriptor_pb2.DescriptorProto:
    write = resolve_write_schema(columns, None, topic="t", value_format="protobuf", record_name="my-topic")
    assert write.registers
    assert write.info.type is SchemaType.PROTOBUF_NATIVE
    proto = descriptor_pb2.DescriptorProto()
    native_descriptor(write.info.text, where="t").CopyToProto(proto)
    return proto


def test_every_type_of_column() -> None:
    proto = registered(COLUMNS)
    assert proto.name == "my_topic"
    fields = {field.name: field for field in proto.field}
    assert [field.number for field in proto.field] == list(range(1, 9))
    assert [name for name, field in fields.items() if field.proto3_optional] == ["tiny", "text"]
    assert fields["at"].type_name == ".google.protobuf.Timestamp"
    assert fields["took"].type_name == ".google.protobuf.Duration"
    assert fields["by_name"].type_name == ".my_topic.ByNameEntry"
    assert fields["Nested"].type_name == ".my_topic.Nested_"
    assert [nested.name for nested in proto.nested_type] == ["ByNameEntry", "By_name", "Nested_", "Many"]


def test_a_registered_schema_is_read_as_the_same_columns() -> None:
    write = resolve_write_schema(COLUMNS, None, topic="t", value_format="protobuf")
    again = resolve_write_schema(COLUMNS, write.info, topic="t", value_format="protobuf")
    assert (again.value, again.registers) == (write.value, False)
    read = resolve_read_schema(write.info, topic="t", columns=["*"]).output_schema
    back = resolve_write_schema(read, write.info, topic="t")
    assert back.value == write.value
    assert read.field("tiny").type == pa.int32()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.date32(), "cast it to string"),
        (pa.timestamp("us"), "cast it to timestamp, which has a time zone"),
        (pa.decimal128(10, 2), "cast it to string"),
        (pa.list_(pa.list_(pa.int32())), r"column bad\[\] of type array.*wrap it in a struct"),
        (pa.map_(pa.string(), pa.list_(pa.int32())), r"column bad\{\} of type array.*wrap it in a struct"),
        (pa.map_(pa.float64(), pa.int32()), "keys of type double .*cast them to string"),
        (pa.struct([("a-b", pa.int32())]), r"column bad\.a-b, whose name is not letters.*for example to a_b"),
    ],
)
def test_columns_without_a_place_are_refused(kind: pa.DataType, expected: str) -> None:
    columns = pa.schema([("fine", pa.int32()), ("bad", kind), ("also", pa.date32())])
    with pytest.raises(SchemaError, match=f"topic t: expected columns .*{expected}.*column also"):
        resolve_write_schema(columns, None, topic="t", value_format="protobuf")


def test_columns_that_do_not_fit_the_topics_message() -> None:
    info = resolve_write_schema(COLUMNS, None, topic="t", value_format="protobuf").info
    with pytest.raises(SchemaError) as caught:
        resolve_write_schema(pa.schema([("flag", pa.string()), ("texts", pa.string())]), info, topic="t")
    assert "flag is string" in str(caught.value)
    assert "texts is not in the topic's schema; did you mean text?" in str(caught.value)
    with pytest.raises(SchemaError, match="value format avro does not match its PROTOBUF_NATIVE schema"):
        resolve_write_schema(COLUMNS, info, topic="t", value_format="avro")


@pytest.mark.parametrize("encoding", ["inline", "separated"])
def test_sides_of_a_pair_as_messages(encoding: str) -> None:
    record = pa.struct([("id", pa.int64()), ("tags", pa.list_(pa.field("element", pa.string())))])
    rows = [
        {"key": {"id": 1, "tags": []}, "value": {"id": None, "tags": ["a", ""]}},
        {"key": None, "value": None},
    ]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema([("key", record), ("value", record)]))
    write = resolve_write_schema(
        batch.schema, None, topic="t", value_format="protobuf", key_value_encoding=encoding
    )
    encoder = BatchEncoder(write, topic="t", partitions=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=b"\0" * 8)
    entries = entries_of(encoder.encode(batch, 1))
    read = resolve_read_schema(write.info, topic="t", columns=["*"])
    decoder = EntryDecoder(read, topic="t", partition=-1, fetch_schema=lambda _: write.info)
    batches = [*decoder.decode(entries), *decoder.finish()]
    assert [row for each in batches for row in each.to_pylist()] == rows
