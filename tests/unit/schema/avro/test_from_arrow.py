import json

import fastavro
import pyarrow as pa
import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.from_arrow import legal_name, record_document
from pyspark_pulsar.schema.avro.to_arrow import list_of, map_of, record_schema


def test_document_of_spark_columns() -> None:
    columns = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("small", pa.int16()),
            pa.field("at", pa.timestamp("us", tz="UTC")),
            pa.field("local", pa.timestamp("us")),
            pa.field("day", pa.date32()),
            pa.field("clock", pa.time64("ns")),
            pa.field("price", pa.decimal128(9, 2)),
        ]
    )
    text = record_document(columns, record_name="Order", where="topic t")
    assert json.loads(text) == {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "small", "type": ["null", "int"], "default": None},
            {
                "name": "at",
                "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}],
                "default": None,
            },
            {
                "name": "local",
                "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}],
                "default": None,
            },
            {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
            {
                "name": "clock",
                "type": ["null", {"type": "long", "logicalType": "time-micros"}],
                "default": None,
            },
            {
                "name": "price",
                "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}],
                "default": None,
            },
        ],
    }
    fastavro.parse_schema(json.loads(text))


def test_nested_records_have_unique_names() -> None:
    inner = pa.struct([pa.field("c", pa.struct([pa.field("x", pa.int32())]))])
    columns = pa.schema(
        [
            pa.field("b", inner),
            pa.field("b_c", pa.struct([pa.field("y", pa.int32())])),
            pa.field("list", list_of(inner, nullable=True)),
            pa.field("map", map_of(inner, nullable=False)),
        ]
    )
    text = record_document(columns, record_name="Row", where="topic t")
    fastavro.parse_schema(json.loads(text))
    assert record_schema(text, where="topic t") == columns


def test_every_fault_is_listed() -> None:
    columns = pa.schema(
        [
            pa.field("a b", pa.int32()),
            pa.field("span", pa.duration("us")),
            pa.field("nothing", pa.null()),
            pa.field("by_number", pa.map_(pa.int32(), pa.string())),
            pa.field("twice", pa.int32()),
            pa.field("twice", pa.int32()),
            pa.field("v", pa.struct([pa.field("metadata", pa.binary(), metadata={b"variant": b"true"})])),
        ]
    )
    with pytest.raises(SchemaError) as caught:
        record_document(columns, record_name="Row", where="topic t")
    for part in ("a b", "a_b", "span", "nothing", "by_number", "twice twice", "column v "):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name"), [("orders", "orders"), ("my-topic.1", "my_topic_1"), ("1st", "_1st"), ("", "_")]
)
def test_legal_name(text: str, name: str) -> None:
    assert legal_name(text) == name
