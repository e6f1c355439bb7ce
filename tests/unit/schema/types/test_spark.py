import subprocess
import sys

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.types.spark import arrow_schema, spark_schema

EVERYTHING = StructType(
    [
        StructField("at", TimestampType()),
        StructField("local", TimestampNTZType(), False),
        StructField("clock", TimeType(6)),
        StructField("tags", ArrayType(StringType(), False)),
        StructField("counts", MapType(StringType(), LongType())),
    ]
)


def test_round_trip() -> None:
    assert spark_schema(arrow_schema(EVERYTHING)) == EVERYTHING


def test_arrow_schema_labels_utc_and_drops_metadata() -> None:
    struct = StructType([StructField("at", TimestampType(), True, {"comment": "when"})])
    assert arrow_schema(struct).equals(pa.schema([("at", pa.timestamp("us", tz="UTC"))]), check_metadata=True)


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("ms", tz="UTC"),
        pa.timestamp("us", tz="+00:00"),
        pa.time32("ms"),
        pa.binary(4),
        pa.uint8(),
    ],
)
def test_arrow_types_that_spark_would_refuse(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError):
        spark_schema(pa.schema([("x", kind)]))


def test_spark_type_without_arrow_type() -> None:
    with pytest.raises(SchemaError, match="interval"):
        arrow_schema(StructType([StructField("i", CalendarIntervalType())]))


def test_needs_no_pandas() -> None:
    program = (
        "import sys; sys.modules['pandas'] = None; import pyarrow as pa;"
        "from pyspark_pulsar.schema.types.spark import spark_schema;"
        "print(spark_schema(pa.schema([('x', pa.int32())])).simpleString())"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "struct<x:int>"
