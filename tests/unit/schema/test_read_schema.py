import pickle

import pyarrow as pa
import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.avro.to_arrow import list_of, map_of
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.types.spark import spark_schema

DEFAULTS = ["__key", "__topic", "__messageId", "__publishTime", "__eventTime", "__messageProperties"]
RECORD = SchemaInfo(
    "orders",
    SchemaType.AVRO,
    b"""{"type":"record","name":"Order","fields":[
      {"name":"id","type":"long"},
      {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
      {"name":"local","type":{"type":"long","logicalType":"local-timestamp-millis"}},
      {"name":"clock","type":{"type":"int","logicalType":"time-millis"}},
      {"name":"hash","type":{"type":"fixed","name":"H","size":4}},
      {"name":"tags","type":{"type":"array","items":"string"}},
      {"name":"counts","type":{"type":"map","values":"int"}},
      {"name":"place","type":{"type":"record","name":"P","fields":[
        {"name":"seen","type":{"type":"long","logicalType":"timestamp-millis"}}]}}]}""",
)


@pytest.mark.parametrize(
    ("schema_type", "value_type", "arrow_type"),
    [
        (SchemaType.NONE, "bytes", pa.binary()),
        (SchemaType.BYTES, "bytes", pa.binary()),
        (SchemaType.STRING, "string", pa.string()),
        (SchemaType.BOOLEAN, "boolean", pa.bool_()),
        (SchemaType.INT8, "int8", pa.int8()),
        (SchemaType.INT16, "int16", pa.int16()),
        (SchemaType.INT32, "int32", pa.int32()),
        (SchemaType.INT64, "int64", pa.int64()),
        (SchemaType.FLOAT, "float", pa.float32()),
        (SchemaType.DOUBLE, "double", pa.float64()),
    ],
)
def test_primitive_is_one_value_column(
    schema_type: SchemaType, value_type: str, arrow_type: pa.DataType
) -> None:
    found = resolve_read_schema(SchemaInfo("x", schema_type), topic="t")
    assert found.value == PayloadSchema(value_type)
    assert found.output_schema.names == ["value", *DEFAULTS]
    assert found.output_schema.field("value") == pa.field("value", arrow_type)


def test_no_schema_is_bytes() -> None:
    assert resolve_read_schema(None, topic="t").value.value_type == "bytes"


@pytest.mark.parametrize("name", ["AUTO", "AUTO_CONSUME"])
def test_other_types_are_refused(name: str) -> None:
    with pytest.raises(SchemaError, match=f"topic t: expected .*AVRO.*got {name}; "):
        resolve_read_schema(SchemaInfo("x", SchemaType[name]), topic="t")


def test_record_in_spark_types() -> None:
    found = resolve_read_schema(RECORD, topic="t")
    instant = pa.timestamp("us", tz="UTC")
    assert found.value.value_type == "avro"
    assert found.value.definition == RECORD.text
    assert found.value.value_schema is not None
    assert found.value.value_schema.field("at") == pa.field(
        "at", pa.timestamp("ms", tz="UTC"), nullable=False
    )
    values = [
        pa.field("id", pa.int64()),
        pa.field("at", instant),
        pa.field("local", pa.timestamp("us")),
        pa.field("clock", pa.time64("ns")),
        pa.field("hash", pa.binary()),
        pa.field("tags", list_of(pa.string(), nullable=True)),
        pa.field("counts", map_of(pa.int32(), nullable=True)),
        pa.field("place", pa.struct([pa.field("seen", instant)])),
    ]
    assert found.output_schema == pa.schema([*values, *metadata_columns.DEFAULT_FIELDS])
    assert pickle.loads(pickle.dumps(found)) == found
    assert "time(6)" in spark_schema(found.output_schema).simpleString()


def test_json_may_lack_every_field() -> None:
    found = resolve_read_schema(
        SchemaInfo("orders", SchemaType.JSON, RECORD.document), topic="t"
    ).value.value_schema
    assert found is not None
    assert all(field.nullable for field in found)
    assert found.field("place").type == pa.struct([pa.field("seen", pa.timestamp("us", tz="UTC"))])
    assert found.field("tags").type == list_of(pa.string(), nullable=True)
    assert found.field("counts").type == map_of(pa.int32(), nullable=True)


def test_all_metadata_columns_have_their_spark_type() -> None:
    found = resolve_read_schema(None, topic="t", columns=list(metadata_columns.FIELDS))
    assert spark_schema(found.output_schema).simpleString() == (
        "struct<__key:binary,__topic:string,"
        "__messageId:struct<ledger:bigint,entry:bigint,batchIndex:int,partition:int>,"
        "__publishTime:timestamp,__eventTime:timestamp,__messageProperties:map<string,string>,"
        "__partition:int,__orderingKey:binary,__producerName:string,__sequenceId:bigint,"
        "__schemaVersion:bigint,__messageSize:int,__replicatedFrom:string,__index:bigint,"
        "__brokerPublishTime:timestamp>"
    )


def test_columns_are_in_the_requested_order() -> None:
    found = resolve_read_schema(RECORD, topic="t", columns=["__partition", "tags", "id"])
    assert found.output_schema.names == ["__partition", "tags", "id"]
    everything = resolve_read_schema(RECORD, topic="t", columns=["*", "__key"])
    assert everything.output_schema.names[-2:] == ["place", "__key"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["__publishtime"], "did you mean __publishTime?"),
        (["nope"], "check the name"),
        (["id", "*"], "id more than once"),
        ([], "got none"),
    ],
)
def test_wrong_columns(columns: list[str], said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        resolve_read_schema(RECORD, topic="t", columns=columns)
    assert said in str(caught.value)


def test_value_field_named_like_a_metadata_column() -> None:
    document = b'{"type":"record","name":"R","fields":[{"name":"__key","type":"int"}]}'
    with pytest.raises(SchemaError, match="got __key"):
        resolve_read_schema(SchemaInfo("x", SchemaType.JSON, document), topic="t", columns=["__topic"])
