"""The table of docs/schema-mapping.md: every row is true, and nothing is missing from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf import wrappers_pb2
from pyspark.sql import types as spark
from unit.docs.noted_protobuf import FIELD, KINDS
from unit.docs.noted_schemas import spark_type
from unit.docs.schema_rows import (
    PAGE,
    RECORDS,
    ROWS,
    Row,
    check,
    check_both_ways,
    check_read,
    check_registered,
    registered,
    rows_of,
)
from unit.docs.type_notation import noted

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.types.spark import arrow_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_is_what_a_read_gives(row: Row) -> None:
    check_read(row)


@pytest.mark.parametrize("row", [row for row in ROWS if row.read], ids=str)
def test_a_row_is_written_and_read_back(row: Row) -> None:
    check_both_ways(row)


@pytest.mark.parametrize("row", [row for row in ROWS if row.registered], ids=str)
def test_a_row_is_what_a_write_registers(row: Row) -> None:
    check_registered(row)


def test_the_table_has_every_schema_type_once_or_more() -> None:
    assert {schema for row in ROWS for schema in row.schemas} == set(SchemaType.__members__)


def _in_rows_of(schema: str) -> set[str]:
    kinds = [noted(kind) for row in ROWS if schema in row.schemas for kind in row.types]
    return {word for kind in kinds for each in kind.walk() for word in each.words or ("union",)}


@pytest.mark.parametrize("schema", RECORDS)
def test_the_table_has_every_type_of_avro(schema: str) -> None:
    specification = {
        *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
        *("record", "enum", "array", "map", "union", "fixed"),
        *("decimal", "uuid", "date", "time-millis", "time-micros", "duration"),
        *("timestamp-millis", "timestamp-micros", "timestamp-nanos"),
        *("local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"),
    }
    assert not specification - _in_rows_of(schema)


def test_the_table_has_every_type_of_protobuf() -> None:
    kinds = {name.removeprefix("TYPE_").lower() for name in KINDS.Type.keys()}  # noqa: SIM118
    wrappers = {message.name for message in wrappers_pb2.DESCRIPTOR.message_types_by_name.values()}
    known = {f"google.protobuf.{name}" for name in (*wrappers, "Timestamp", "Duration", "Any", "Struct")}
    shapes = {"optional", "required", "repeated", "map", "oneof"}
    assert not (kinds | known | shapes) - _in_rows_of("PROTOBUF_NATIVE")
    assert not kinds - _in_rows_of("PROTOBUF")


def _leaf_types(kind: type[spark.DataType] = spark.DataType) -> Iterator[str]:
    """Return Spark's types by the names of their classes, without the classes that only group others."""
    for each in kind.__subclasses__():
        if each.__module__ == spark.__name__:
            yield from _leaf_types(each) if each.__subclasses__() else [each.__name__]


# Every type of Spark as the page writes it.
SAMPLES = (
    *("void", "binary", "string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double"),
    *("date", "time", "timestamp", "timestamp_ntz", "decimal(10, 2)", "decimal(38, 0)"),
    *("interval day to second", "interval year to month", "variant", "geometry", "geography"),
    *("array<bigint>", "map<string, bigint>", "map<int, string>", "struct<a: bigint, b: string>"),
    *("array<array<bigint>>", "map<date, string>", "map<float, string>"),
)


def test_the_samples_are_all_types_of_spark() -> None:
    # Texts of a bounded length are strings to a query, and a UDT travels as the type below it.
    left_out = {"CharType", "VarcharType", "UserDefinedType", "CalendarIntervalType", "StructField"}
    sampled = {type(spark_type(noted(text))).__name__ for text in SAMPLES}
    assert sampled == set(_leaf_types()) - left_out | {"StringType"}


@pytest.mark.parametrize("text", SAMPLES)
@pytest.mark.parametrize("schema", ["AVRO", "JSON", "PROTOBUF_NATIVE"])
def test_a_type_of_spark_is_in_the_last_column_or_refused(schema: str, text: str) -> None:
    listed = [row for row in ROWS if schema in row.schemas and text in row.registered]
    nested = schema != "PROTOBUF_NATIVE" and text == "array<array<bigint>>"
    value_format = RECORDS.get(schema, "protobuf")
    if listed or nested:
        registered(FIELD, text, nullable=True, value_format=value_format)
        return
    with pytest.raises(SchemaError):
        registered(FIELD, text, nullable=True, value_format=value_format)


@pytest.mark.parametrize("text", SAMPLES)
def test_a_single_column_is_a_primitive_only_where_the_table_says_so(text: str) -> None:
    listed = {each for row in ROWS if not row.types for each in row.registered}
    try:
        found = registered("value", text, nullable=True).info.type
    except SchemaError:
        assert text not in listed
    else:
        assert (found is not SchemaType.AVRO) == (text in listed)


@pytest.mark.parametrize(
    ("told", "false"),
    [
        ("| `INT32` | | `int` | `int` |", "| `INT32` | | `bigint` | `int` |"),
        ("| `INT32` | | `int` | `int` |", "| `INT32` | | `int` | `bigint` |"),
        ("| `TIME` | | `time` | |", "| `TIME` | | `time` | `time` |"),
        ("| `date on int` | `date` | `date` |", "| `date on int` | `int` | `date` |"),
        ("| `long` | `bigint` | `bigint` |", "| `long` | `bigint` | `int` |"),
        ("| `array<long>` | `array<bigint>` | `array<bigint>` |", "| `array<long>` | refused | |"),
        ("| `record<next: itself>` | left out | |", "| `record<next: itself>` | `struct<>` | |"),
        ("| `record<next: itself>` | left out | |", "| `record<next: itself>` | refused | |"),
        ("| `float` | `float` | `float` |", "| `float` | `double` | `float` |"),
        ("| `repeated int64` | `array<bigint>` | `array<bigint>` |", "| `repeated int64` | `bigint` | |"),
        (
            "`bigint` | a nullable `bigint`; the same applies to every nullable scalar |",
            "`bigint` | `string` |",
        ),
        ("`int` and `string` | `int` and `string` |", "`int` and `string` | `bigint` and `string` |"),
    ],
)
def test_a_false_row_is_seen(told: str, false: str) -> None:
    page = PAGE.read_text()
    assert told in page
    changed = [row for row in rows_of(page.replace(told, false)) if row not in ROWS]
    assert changed
    for row in changed:
        with pytest.raises((AssertionError, pytest.fail.Exception, SchemaError)):
            check(row)


@pytest.mark.parametrize("text", ["variant", "geometry", "decimal(10, 2)", "array<bigint>"])
def test_a_side_of_a_pair_that_no_schema_holds_is_refused(text: str) -> None:
    kinds = {"key": "string", "value": text}
    fields = [spark.StructField(name, spark_type(noted(kind))) for name, kind in kinds.items()]
    frame = arrow_schema(spark.StructType(fields))
    with pytest.raises(
        SchemaError, match="column value: expected a struct, or a type that a Pulsar primitive"
    ):
        resolve_write_schema(frame, None, topic="t", key_value_encoding="inline")
