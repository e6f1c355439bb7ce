"""Whatever columns a DataFrame has, their registered document describes them, and Spark can read them."""

import json

import fastavro
import pyarrow as pa
from hypothesis import given, settings
from property.arrow_strategies import SCHEMAS
from pyarrow import types

from pyspark_pulsar.schema.avro.from_arrow import record_document
from pyspark_pulsar.schema.avro.to_arrow import list_of, map_of, record_schema
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.types.spark import arrow_schema, spark_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema


def in_avro(kind: pa.DataType) -> pa.DataType:
    """Return the type that a Spark type becomes in a document: Avro has no small integers and no nanoseconds
    of a day.
    """
    if types.is_integer(kind):
        return pa.int64() if kind == pa.int64() else pa.int32()
    if types.is_time(kind):
        return pa.time64("us")
    if types.is_list(kind):
        return list_of(in_avro(kind.value_type), nullable=kind.value_field.nullable)
    if types.is_map(kind):
        return map_of(in_avro(kind.item_type), nullable=kind.item_field.nullable)
    if types.is_struct(kind):
        return pa.struct([member.with_type(in_avro(member.type)) for member in kind])
    return kind


@settings(print_blob=True, deadline=None)
@given(SCHEMAS)
def test_document_describes_the_columns(columns: pa.Schema) -> None:
    document = record_document(columns, record_name="Row", where="test")
    fastavro.parse_schema(json.loads(document))
    expected = pa.schema([field.with_type(in_avro(field.type)) for field in columns])
    assert record_schema(document, where="test").equals(expected)


@settings(print_blob=True, deadline=None)
@given(SCHEMAS)
def test_spark_expects_exactly_what_a_read_yields(columns: pa.Schema) -> None:
    document = record_document(columns, record_name="Row", where="test")
    read = resolve_read_schema(SchemaInfo("Row", SchemaType.AVRO, document.encode()), topic="t")
    spark = spark_schema(read.output_schema)
    assert arrow_schema(spark).equals(read.output_schema, check_metadata=True)
    assert all(field.nullable for field in read.output_schema)


@settings(print_blob=True, deadline=None)
@given(SCHEMAS)
def test_columns_fit_the_schema_that_they_registered(columns: pa.Schema) -> None:
    first = resolve_write_schema(columns, None, topic="t", value_format="json")
    again = resolve_write_schema(columns, first.info, topic="t")
    assert (again.value, again.registers) == (first.value, False)
    read = resolve_read_schema(first.info, topic="t")
    back = resolve_write_schema(read.output_schema, first.info, topic="t")
    assert back.value == first.value
