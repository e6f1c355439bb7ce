import json
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

DOCUMENT = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "user", "type": "string"},
            {
                "name": "at",
                "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
                "default": None,
            },
            {
                "name": "status",
                "type": {"type": "enum", "name": "S", "symbols": ["NEW", "OLD"]},
                "default": "NEW",
            },
            {"name": "mark", "type": {"type": "fixed", "name": "M", "size": 2}, "default": "\u0001\u00ff"},
        ],
    }
)
TOPIC_SCHEMA = SchemaInfo("orders", SchemaType.AVRO, DOCUMENT.encode(), version=b"\0" * 8)


@pytest.mark.parametrize(
    ("kind", "schema_type", "registers"),
    [
        (pa.string(), SchemaType.STRING, True),
        (pa.binary(), SchemaType.BYTES, False),
        (pa.bool_(), SchemaType.BOOLEAN, True),
        (pa.int8(), SchemaType.INT8, True),
        (pa.int16(), SchemaType.INT16, True),
        (pa.int32(), SchemaType.INT32, True),
        (pa.int64(), SchemaType.INT64, True),
        (pa.float32(), SchemaType.FLOAT, True),
        (pa.float64(), SchemaType.DOUBLE, True),
    ],
)
def test_value_column_without_schema_is_a_primitive(
    kind: pa.DataType, schema_type: SchemaType, registers: bool
) -> None:
    found = resolve_write_schema(pa.schema([("__key", pa.string()), ("value", kind)]), None, topic="t")
    assert (found.info.type, found.registers, found.value.definition) == (schema_type, registers, None)
    assert found.input_schema == pa.schema([("value", kind), ("__key", pa.binary())])


def test_explicit_format_makes_the_value_column_a_record() -> None:
    found = resolve_write_schema(pa.schema([("value", pa.string())]), None, topic="t", value_format="json")
    assert (found.value.value_type, found.info.type) == ("json", SchemaType.JSON)
    assert found.value.value_schema == pa.schema([("value", pa.string())])


def test_record_without_schema_is_registered_as_avro() -> None:
    columns = pa.schema([pa.field("id", pa.int16(), nullable=False), ("at", pa.timestamp("us", tz="UTC"))])
    found = resolve_write_schema(
        columns, SchemaInfo("x", SchemaType.NONE), topic="t", record_name="my-orders"
    )
    assert found.registers
    assert (found.info.name, found.info.type, found.info.version) == ("my_orders", SchemaType.AVRO, None)
    assert found.value.value_schema == pa.schema(
        [pa.field("id", pa.int32(), nullable=False), columns.field("at")]
    )
    assert found.input_schema == columns
    assert pickle.loads(pickle.dumps(found)) == found


def test_topic_schema_is_kept_and_defaults_are_added() -> None:
    columns = pa.schema(
        [("user", pa.string()), ("id", pa.int32()), ("__eventTime", pa.timestamp("us", tz="UTC"))]
    )
    found = resolve_write_schema(columns, TOPIC_SCHEMA, topic="t")
    assert not found.registers
    assert found.info == TOPIC_SCHEMA
    assert found.defaults == (("status", "NEW"), ("mark", b"\x01\xff"))
    assert found.input_schema.names == ["user", "id", "status", "mark", "__eventTime"]
    assert found.value.value_schema is not None
    assert found.value.value_schema.names == ["id", "user", "at", "status", "mark"]


def test_all_mismatches_are_listed_at_once() -> None:
    columns = pa.schema([("id", pa.string()), ("usr", pa.string()), ("at", pa.timestamp("us"))])
    with pytest.raises(SchemaError) as caught:
        resolve_write_schema(columns, TOPIC_SCHEMA, topic="persistent://p/d/t")
    lines = str(caught.value).splitlines()
    assert lines[0] == "topic persistent://p/d/t: the columns do not fit its AVRO schema, 4 mismatches:"
    assert lines[1:] == [
        "  - usr is not in the topic's schema; did you mean user?",
        "  - id is string, the topic's schema wants bigint; cast it to bigint",
        "  - user (string) is required by the topic's schema and missing; add it",
        "  - at is timestamp_ntz, the topic's schema wants timestamp; cast it to timestamp",
    ]


def test_decimal_default() -> None:
    price = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    fields = [{"name": "a", "type": "int"}, {"name": "b", "type": price, "default": "\u00ff\u0085"}]
    info = SchemaInfo(
        "x", SchemaType.AVRO, json.dumps({"type": "record", "name": "R", "fields": fields}).encode()
    )
    found = resolve_write_schema(pa.schema([("a", pa.int32())]), info, topic="t")
    assert found.defaults == (("b", Decimal("-1.23")),)


def test_default_that_cannot_be_written_is_a_mismatch() -> None:
    document = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": "x"}],
        }
    )
    with pytest.raises(SchemaError, match=r"b \(int\) is missing and its default cannot be written"):
        resolve_write_schema(
            pa.schema([("a", pa.int32())]), SchemaInfo("x", SchemaType.AVRO, document.encode()), topic="t"
        )


def test_primitive_topic_takes_one_value_column() -> None:
    info = SchemaInfo("x", SchemaType.INT32)
    found = resolve_write_schema(pa.schema([("value", pa.int16())]), info, topic="t")
    assert found.input_schema == pa.schema([("value", pa.int32())])
    for columns in (
        [("value", pa.int64())],
        [("val", pa.int32())],
        [("value", pa.int32()), ("other", pa.int32())],
    ):
        with pytest.raises(SchemaError, match="INT32"):
            resolve_write_schema(pa.schema(columns), info, topic="t")


def test_another_type_is_no_missing_column() -> None:
    with pytest.raises(SchemaError) as caught:
        resolve_write_schema(
            pa.schema([("value", pa.string())]), SchemaInfo("x", SchemaType.INT32), topic="t"
        )
    assert str(caught.value).splitlines() == [
        "topic t: the columns do not fit its INT32 schema, 1 mismatch:",
        "  - column value is string, the topic's schema wants int; cast it to int",
    ]


def test_what_was_read_can_be_written_back() -> None:
    read = resolve_read_schema(TOPIC_SCHEMA, topic="t", columns=["*", *metadata_columns.FIELDS])
    written = resolve_write_schema(read.output_schema, TOPIC_SCHEMA, topic="t")
    assert [name for name in written.input_schema.names if name.startswith("__")] == [
        "__key",
        "__eventTime",
        "__messageProperties",
        "__partition",
        "__orderingKey",
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([("__eventtime", pa.timestamp("us", tz="UTC"))], "did you mean __eventTime?"),
        ([("__mine", pa.string())], "__mine, which begins with __"),
        (
            [("__eventTime", pa.timestamp("us"))],
            "__eventTime is timestamp_ntz, which is no timestamp; cast it to timestamp",
        ),
        ([("__key", pa.int64())], "__key is bigint, which is no binary or string; cast it to string"),
        ([("__topic", pa.binary())], "__topic is binary, which is no string; cast it to string"),
        ([("__messageProperties", pa.map_(pa.string(), pa.int32()))], "__messageProperties"),
        ([("a", pa.string())], "column a twice"),
    ],
)
def test_metadata_columns_are_checked(columns: list[tuple[str, pa.DataType]], said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        resolve_write_schema(pa.schema([("a", pa.string()), *columns]), None, topic="t")
    assert said in str(caught.value)


def test_metadata_alone_is_no_value() -> None:
    with pytest.raises(SchemaError, match="no value column"):
        resolve_write_schema(pa.schema([("__key", pa.string())]), None, topic="t")


@pytest.mark.parametrize("value_format", ["json", "csv"])
def test_format_that_contradicts(value_format: str) -> None:
    with pytest.raises(SchemaError, match=value_format):
        resolve_write_schema(
            pa.schema([("id", pa.int64())]), TOPIC_SCHEMA, topic="t", value_format=value_format
        )


def test_unsupported_topic_schema() -> None:
    with pytest.raises(SchemaError, match="PROTOBUF"):
        resolve_write_schema(pa.schema([("id", pa.int64())]), SchemaInfo("x", SchemaType.PROTOBUF), topic="t")
